"""`glassformer evaluate`: measure a model beside baselines on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.flags import with_flags
from glassformer.cli.hints import check_order
from glassformer.cli.live import Live, words
from glassformer.cli.number_evaluate import show_numbers
from glassformer.cli.options import (
    DataDir,
    Device,
    FoldLabels,
    Json,
    LabelColumn,
    Model,
    MultilabelAsTrained,
    Quiet,
    TextColumn,
)
from glassformer.cli.output import (
    command_line,
    doing,
    human_count,
    hush,
    print_table,
    progressing,
    say,
    show,
    write_json,
)
from glassformer.cli.task import refuse_for_number
from glassformer.cli.writers import check_folder, check_replaced
from glassformer.errors import GlassformerError, UsageError

if TYPE_CHECKING:
    from glassformer.evaluation.number_result import NumberEvaluation
    from glassformer.evaluation.result import Calibration, Evaluation, Review
    from glassformer.prediction.predictor import Predictor


def evaluate(
    model: Model,
    data: Annotated[str, typer.Argument(help="A labelled table, or a known data set (its test split).")],
    text: TextColumn = None,
    label: LabelColumn = None,
    multilabel: MultilabelAsTrained = None,
    fold_labels: FoldLabels = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html and metrics.json. Default: MODEL/evaluation.")
    ] = None,
    train: Annotated[str | None, typer.Option(help="The training table, if it was moved.")] = None,
    device: Device = "auto",
    data_dir: DataDir = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure a model on labelled texts, and compare it with two baselines: majority class, and TF-IDF + logistic
    regression. Each of its readers is measured alone too."""
    if quiet:
        hush()
    from glassformer.data.known import check_source
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.folder_names import EVALUATION_FOLDER, FIGURES_FILE, REPORT_FILE
    from glassformer.prediction.model_folder import is_model_folder
    from glassformer.prediction.predictor import Predictor
    from glassformer.prediction.shipped import is_shipped

    check_order(model, data)
    check_source(data)
    if out is None and is_shipped(model):
        raise UsageError(f"{model.name} comes with glassformer, and nothing is written beside it; add --out FOLDER")
    folder = out or model / EVALUATION_FOLDER
    check_folder(folder)
    if is_model_folder(folder):
        raise UsageError(f"--out {folder} is a model folder, whose {FIGURES_FILE} would be replaced; name another one")
    if out is not None:
        check_replaced(out, (FIGURES_FILE, REPORT_FILE), key="duel")
    asked: dict[str, Any] = {"text": text, "label": label, "train": train, "data_dir": data_dir}
    of_labels = {"multilabel": multilabel, "fold_labels": fold_labels}
    doing(f"reading {model} and {data}")
    predictor = Predictor.load(model, device=choose_device(device))  # what was exported is not measured
    if predictor.trained.config.target.names is None:
        refuse_for_number("evaluate", **of_labels)
    else:
        asked |= of_labels
    _measure(predictor, model, data, folder, json=json, **asked)


def _measure(predictor: Predictor, model: Path, data: str, folder: Path, *, json: bool, **asked: Any) -> None:
    """Measure a model, show the figures and write them.

    Args:
        asked: other arguments of the library's `evaluate_model` or `evaluate_number`.
    """
    from rich.progress import BarColumn, TaskProgressColumn, TimeRemainingColumn

    from glassformer.evaluation.evaluate_model import evaluate_model
    from glassformer.evaluation.evaluate_number import evaluate_number
    from glassformer.evaluation.report import write_report
    from glassformer.evaluation.report_number import write_number_report
    from glassformer.prediction.folder_names import FIGURES_FILE, REPORT_FILE

    with Live(words("answering"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()) as view:

        def on_progress(share: float) -> None:
            view.move(share, 1.0)
            progressing(f"answering, {share:.0%}")

        def announce(what: str) -> None:
            view.end()
            say(what)
            doing(what)

        how: dict[str, Any] = {"command": command_line(), "say": announce, "on_progress": on_progress, **asked}
        labelled = predictor.trained.config.target.names is not None
        evaluation: Any = with_flags((evaluate_model if labelled else evaluate_number)(predictor, model, data, **how))
    document = evaluation.model_dump_json(indent=2)
    _say_what_is_left_out(evaluation)
    if json:
        write_json(document + "\n")
    else:
        (_show if labelled else show_numbers)(evaluation)
    history = None if predictor.trained.config.answers_by_counting else predictor.trained.metrics.get("history")
    report = partial(write_report, evaluation=evaluation, history=history)
    _write(folder, evaluation, document, report if labelled else partial(write_number_report, evaluation=evaluation))
    if not json:
        show(f"\nreport: {folder / REPORT_FILE}    figures: {folder / FIGURES_FILE}")


def _say_what_is_left_out(evaluation: Evaluation | NumberEvaluation) -> None:
    for note in evaluation.notes:
        say(note if note.startswith("warning: ") else f"note: {note}")
    for dropped in evaluation.dropped:
        say(f"left out: {human_count(dropped.count)} × {dropped.reason}")


def _write(
    folder: Path, evaluation: Evaluation | NumberEvaluation, document: str, report: Callable[[Path], None]
) -> None:
    """Write the report and the figures. They have been shown already, so a full disk does not lose them.

    Args:
        report: writes the report to a file.

    Raises:
        GlassformerError: they cannot be written.
    """
    from glassformer.data.files import write_aside
    from glassformer.errors import GlassformerError
    from glassformer.prediction.folder_names import FIGURES_FILE, REPORT_FILE

    doing("writing the report")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _say_what_is_replaced(folder / FIGURES_FILE, evaluation)
        report(folder / REPORT_FILE)
        write_aside(folder / FIGURES_FILE, document + "\n")
    except OSError as error:
        raise GlassformerError(
            f"the report cannot be written into {folder}: {error.strerror}; name another folder with --out"
        ) from error


def _say_what_is_replaced(figures: Path, evaluation: Evaluation | NumberEvaluation) -> None:
    """Say it if this replaces an evaluation on other rows."""
    from glassformer.data.json_files import read_json
    from glassformer.data.wording import counted

    try:
        earlier = read_json(figures)["data"]
        source, rows, digest = str(earlier["source"]), int(earlier["rows"]), earlier["sha256"]
    except (
        GlassformerError,
        OSError,
        ValueError,
        TypeError,
        KeyError,
    ):  # no earlier evaluation, or an unreadable one
        return
    if digest != evaluation.data.sha256:
        shown = f"{source}, {counted(rows, 'row')}"
        say(f"note: this replaces the evaluation on {shown} in {figures.parent}; --out OTHER keeps both")


def _show(evaluation: Evaluation) -> None:
    """Show the model, its readers and the baselines as a table, then the verdicts, a sentence each."""
    from glassformer.data.wording import counted
    from glassformer.evaluation.report import seconds, size
    from glassformer.evaluation.verdict import how_far_off, rarely_found, where_worse

    metrics, duel = evaluation.metrics, evaluation.duel
    show(f"{evaluation.data.source}: {counted(metrics.rows, 'text')}\n")
    heads = ("", "accuracy", "95% interval", "macro F1", "log loss", "trained in", "answers in", "size")
    lines = [heads]
    for contestant in (*reversed(duel.baselines), *duel.readers, duel.model):
        accuracy = contestant.metrics.accuracy
        lines.append(
            (
                contestant.name,
                f"{accuracy.value:.4f}",
                f"{accuracy.low:.4f}-{accuracy.high:.4f}",
                f"{contestant.metrics.macro_f1.value:.4f}",
                f"{contestant.metrics.log_loss:.4f}",
                seconds(contestant.fit_seconds),
                seconds(contestant.predict_seconds),
                size(contestant.size_bytes),
            )
        )
    print_table(lines)
    auc = "" if metrics.roc_auc is None else f"ROC-AUC {metrics.roc_auc:.4f}, "
    show(f"\n{auc}calibration error {evaluation.calibration.after.ece:.4f}{_temperature(evaluation.calibration)}")
    if evaluation.review is not None:
        show(_of_the_surest(evaluation.review))
    show(duel.verdict)
    if duel.reader_verdict:
        show(duel.reader_verdict)
    if evaluation.ranks:
        show(how_far_off(evaluation.ranks))
    if missed := rarely_found(metrics):
        show(missed)
    if worse := where_worse(evaluation.slices):
        show(worse)


def _of_the_surest(review: Review) -> str:
    """Say how much is wrong if the surest 90% of the answers are given automatically."""
    surest = next(each for each in review.shares if each.asked == 0.9)
    said = f"of the surest 90% of these answers, {surest.error.value:.1%} are wrong"
    if (found := surest.threshold) is None or found.error is None:
        return said
    return (
        f"{said}; with the threshold of held-out rows (--automatic 0.9), {found.coverage.value:.1%} are automatic, and "
        f"{found.error.value:.1%} of these are wrong"
    )


def _temperature(calibration: Calibration) -> str:
    """Say what the temperature changed. A temperature of 1.00 changed nothing."""
    if calibration.temperature == 1:
        return " (no temperature was fitted)"
    shown = f"{calibration.temperature:.2f}"
    return "" if shown == "1.00" else f" ({calibration.before.ece:.4f} before the temperature of {shown})"
