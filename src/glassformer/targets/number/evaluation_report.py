"""How the evaluation of a model of a number is shown."""

from collections.abc import Sequence
from typing import Any

from glassformer.data.inputs import shown as text_shown
from glassformer.data.wording import figure, share_in_percent, short
from glassformer.evaluation.charts import HEIGHT, axis, frame, svg, x_at, y_at
from glassformer.evaluation.result import Contestant
from glassformer.evaluation.verdict import share
from glassformer.targets.number.evaluation import ASKED
from glassformer.targets.number.evaluation_result import NumberEvaluation, NumberMetrics
from glassformer.targets.number.target import rows_needed

COLUMNS = ("R²", "mean absolute error", "RMSE", "Spearman")
PLAIN = ("R²", "95% interval", "mean absolute error", "Spearman")


def leading(evaluation: NumberEvaluation) -> str:  # noqa: ARG001
    return "R²"


def figures(evaluation: NumberEvaluation) -> dict[str, str]:
    metrics = evaluation.metrics
    return {
        "mean absolute error": in_unit(metrics.mae.value),
        "root mean squared error": in_unit(metrics.rmse.value),
        "Spearman": "–" if metrics.spearman is None else share(metrics.spearman.value),
    }


def plain_cells(contestant: Contestant[NumberMetrics]) -> list[str]:
    r2, spearman = contestant.metrics.r2, contestant.metrics.spearman
    return [
        figure(r2.value),
        f"{figure(r2.low)} to {figure(r2.high)}",
        short(contestant.metrics.mae.value),
        "–" if spearman is None else figure(spearman.value),
    ]


def sentences(evaluation: NumberEvaluation) -> list[str | None]:
    held = [
        f"intervals of ± {short(each.distance)} should hold {each.asked:.0%} of the numbers, and hold "
        f"{share_in_percent(each.coverage.value)} (95% interval {share_in_percent(each.coverage.low)} to "
        f"{share_in_percent(each.coverage.high)})"
        for each in evaluation.intervals
    ]
    rules = None if evaluation.rules is None else evaluation.rules.sentence
    return [*held, evaluation.duel.verdict, evaluation.duel.reader_verdict, rules]


def shown(evaluation: NumberEvaluation) -> dict[str, Any]:
    known = {each.asked for each in evaluation.intervals}
    shown, rows = len(evaluation.points), evaluation.metrics.rows
    dots = "every row" if shown == rows else f"{shown:,} of {rows:,} rows"
    return {
        "dots": dots,
        "scatter": _scatter(evaluation.points, dots),
        "too_few": {asked: rows_needed(asked) for asked in ASKED if asked not in known},
        "share_far_off": lambda right: share(1 - right),
        "in_unit": in_unit,
        "text_shown": text_shown,
    }


def _scatter(points: Sequence[tuple[float, float]], which: str) -> str:
    values = [value for point in points for value in point]
    x, y = axis("truth", values), axis("answer", values)
    dots = "".join(
        f'<circle class="first" cx="{x_at(truth, x):.1f}" cy="{y_at(answer, y):.1f}" r="2" fill-opacity=".35" '
        f'stroke-opacity="0"><title>truth {in_unit(truth)}, answer {in_unit(answer)}</title></circle>'
        for truth, answer in points
    )
    low, high = max(x.low, y.low), min(x.high, y.high)
    diagonal = (
        f'<line class="mark" x1="{x_at(low, x):.1f}" y1="{y_at(low, y):.1f}" x2="{x_at(high, x):.1f}" '
        f'y2="{y_at(high, y):.1f}"/>'
    )
    return svg(
        "Answers and truth",
        f"A dot for {which}: x is the true number, y the answer. Right answers lie on the diagonal.",
        [frame(x, y), diagonal, dots],
        height=HEIGHT,
    )


def in_unit(value: float) -> str:
    """Write a number of the user's unit as `short` does, with a minus sign."""
    return short(value).replace("-", "−")
