"""`glassformer evaluate` with a model that answers with a number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.output import command_line, doing, human_count, print_table, progressing, say, show, write_json

if TYPE_CHECKING:
    from glassformer.evaluation.number_result import NumberEvaluation


def evaluate_numbers(
    model: Path,
    data: str,
    folder: Path,
    *,
    text: str | None,
    label: str | None,
    train: str | None,
    device: str,
    data_dir: Path | None,
    json: bool,
) -> None:
    """Measure a model of a number on a table, and write its report."""
    from glassformer.cli.flags import as_flags
    from glassformer.evaluation.evaluate_number import evaluate_number
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.predictor import Predictor
    from glassformer.targets.number import NumberAnswers

    doing(f"reading {model} and {data}")
    predictor = Predictor[NumberAnswers].load(model, device=choose_device(device))  # what was exported is not measured

    def announce(what: str) -> None:
        say(what)
        doing(what)

    found = evaluate_number(
        predictor,
        model,
        data,
        text=text,
        label=label,
        train=train,
        data_dir=data_dir,
        command=command_line(),
        say=announce,
        on_progress=lambda share: progressing(f"answering, {share:.0%}"),
    )
    found = found.model_copy(update={"notes": tuple(map(as_flags, found.notes))})
    for note in found.notes:
        say(note if note.startswith("warning: ") else f"note: {note}")
    for dropped in found.dropped:
        say(f"left out: {human_count(dropped.count)} × {dropped.reason}")
    document = found.model_dump_json(indent=2) + "\n"
    if json:
        write_json(document)
    else:
        _show_evaluation(found)
    _write_evaluation(folder, found, document)
    if not json:
        show(f"\nreport: {folder / 'report.html'}    figures: {folder / 'metrics.json'}")


def _show_evaluation(found: NumberEvaluation) -> None:
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


def _write_evaluation(folder: Path, found: NumberEvaluation, document: str) -> None:
    from glassformer.data.files import write_aside
    from glassformer.errors import GlassformerError
    from glassformer.evaluation.report_number import write_number_report
    from glassformer.prediction.folder_names import FIGURES_FILE, REPORT_FILE

    doing("writing the report")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_number_report(folder / REPORT_FILE, found)
        write_aside(folder / FIGURES_FILE, document)
    except OSError as error:
        raise GlassformerError(
            f"the report cannot be written into {folder}: {error.strerror}; name another folder with --out"
        ) from error
