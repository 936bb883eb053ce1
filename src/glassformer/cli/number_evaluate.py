"""What `glassformer evaluate` shows of a model that answers with a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.cli.output import print_table, show

if TYPE_CHECKING:
    from glassformer.evaluation.number_result import NumberEvaluation


def show_numbers(found: NumberEvaluation) -> None:
    """Show the model, its readers and the baselines as a table, then what the intervals hold, and the verdict."""
    from glassformer.data.wording import counted, figure, short
    from glassformer.evaluation.report import seconds, size

    show(f"{found.data.source}: {counted(found.metrics.rows, 'text')}\n")
    lines = [("", "R²", "95% interval", "mean absolute error", "Spearman", "trained in", "answers in", "size")]
    for each in (*found.duel.baselines, *found.duel.readers, found.duel.model):
        metrics = each.metrics
        lines.append(
            (
                each.name,
                figure(metrics.r2.value),
                f"{figure(metrics.r2.low)} to {figure(metrics.r2.high)}",
                short(metrics.mae.value),
                "-" if metrics.spearman is None else figure(metrics.spearman.value),
                seconds(each.fit_seconds),
                seconds(each.predict_seconds),
                size(each.size_bytes),
            )
        )
    print_table(lines)
    show("")
    for interval in found.intervals:
        held = interval.coverage
        rows = f"{held.value:.1%} (95% interval {held.low:.1%} to {held.high:.1%})"
        asked = f"intervals of ± {short(interval.distance)} should hold {interval.asked:.0%} of the numbers"
        show(f"{asked}, and hold {rows}")
    show(found.duel.verdict)
