"""`glassformer evaluate`: measure a model beside baselines on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.flags import as_flags, with_flags
from glassformer.cli.hints import check_order
from glassformer.cli.live import Live, words
from glassformer.cli.options import AsTrained, Measured, Measuring, Model
from glassformer.cli.output import (
    announce,
    command_line,
    doing,
    print_table,
    say,
    show,
    write_json,
)
from glassformer.cli.there import table
from glassformer.cli.writers import about_model, check_earlier, check_folder, check_replaced
from glassformer.data.files import write_aside
from glassformer.data.json_files import read_json
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.folder_names import EVALUATION_FOLDER, FIGURES_FILE, REPORT_FILE, of_other_rows
from glassformer.prediction.shipped import is_shipped

if TYPE_CHECKING:
    from glassformer.evaluation.report import History
    from glassformer.evaluation.result import Evaluation
    from glassformer.prediction.predictor import Predictor


def evaluate(
    model: Model,
    data: Measured,
    *,
    read: AsTrained,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html and metrics.json. Default: MODEL/evaluation.")
    ] = None,
    train: Annotated[str | None, typer.Option(callback=table, help="The training table, if it was moved.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the earlier report in --out.")] = False,
    run: Measuring,
) -> None:
    """Measure a model on labelled texts, and compare it with two baselines: majority class, and TF-IDF + logistic
    regression. Each of its readers is measured alone too."""
    from glassformer.prediction.folder_format import is_model_folder
    from glassformer.prediction.predictor import Predictor

    check_order(model, data)
    data = read.table(data)
    if out is None and is_shipped(model):
        raise UsageError(f"{model.name} comes with glassformer, and nothing is written beside it; add --out FOLDER")
    folder = out or model / EVALUATION_FOLDER
    if out is None and folder.is_symlink():
        raise UsageError(f"{folder} is a link to another folder, where files could be replaced; name one with --out")
    check_folder(folder)
    if is_model_folder(folder):
        raise UsageError(f"--out {folder} is a model folder, whose {FIGURES_FILE} would be replaced; name another one")
    if out is not None:
        check_replaced(out, (FIGURES_FILE, REPORT_FILE), key="duel")
        check_earlier(out, FIGURES_FILE, overwrite=overwrite)
    asked = {"options": read.options, "train": train, "data_dir": run.data_dir}
    doing(f"reading {model} and {data}")
    with about_model(model, *(() if out else (folder / FIGURES_FILE, folder / REPORT_FILE))):
        predictor = Predictor.load(model, device=run.place)  # what was exported is not measured
        _measure(predictor, model, data, folder, json=run.json, **asked)
    if not run.json:
        show(f"\nreport: {folder / REPORT_FILE}    figures: {folder / FIGURES_FILE}")


def _measure(predictor: Predictor, model: Path, data: str, folder: Path, *, json: bool, **asked: Any) -> None:
    """Measure a model, show the figures and write them."""
    from rich.progress import BarColumn, TaskProgressColumn, TimeRemainingColumn

    from glassformer.evaluation.evaluate_model import evaluate_model

    with Live(words("answering"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()) as view:

        def on_progress(share: float) -> None:
            view.move(share, 1.0)
            doing(f"answering, {share:.0%}")

        def tell(what: str) -> None:
            view.end()
            announce(what)

        how: dict[str, Any] = {"command": command_line(), "say": tell, "on_progress": on_progress, **asked}
        evaluation = with_flags(evaluate_model(predictor, model, data, **how))
    document = evaluation.model_dump_json(indent=2)
    for note in evaluation.notes:
        say(note if note.startswith("warning: ") else f"note: {note}")
    for dropped in evaluation.dropped:
        say(f"left out: {dropped.count:,} × {dropped.reason}")
    if json:
        write_json(document + "\n")
    else:
        _show(evaluation)
    history = None if predictor.trained.config.transformer_is_silent else predictor.trained.metrics.get("history")
    _write(folder, evaluation, document, history, keep=folder == model / EVALUATION_FOLDER)


def _write(folder: Path, evaluation: Evaluation, document: str, history: History | None, *, keep: bool) -> None:
    """Write the report and the figures. They have been shown already, so a full disk does not lose them."""
    from glassformer.evaluation.report import write_report

    doing("writing the report")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if keep:
            _keep_other(folder, evaluation)
        write_report(folder / REPORT_FILE, evaluation, history)
        write_aside(folder / FIGURES_FILE, document + "\n")
    except OSError as error:
        raise GlassformerError(
            f"the report cannot be written into {folder}: {error.strerror}; name another folder with --out"
        ) from error


def _keep_other(folder: Path, evaluation: Evaluation) -> None:
    """Rename the report and the figures of other rows: they get the name of their table."""
    try:
        earlier = read_json(folder / FIGURES_FILE)["data"]
        source, rows, digest = str(earlier["source"]), int(earlier["rows"]), str(earlier["sha256"])
    except (GlassformerError, OSError, ValueError, TypeError, KeyError):  # there is none, or none that can be read
        return
    if digest == evaluation.data.sha256:
        return
    for file in (FIGURES_FILE, REPORT_FILE):
        if (path := folder / file).is_file():
            path.replace(kept := path.with_name(of_other_rows(file, source, digest)))
    say(f"note: the evaluation on {source}, {counted(rows, 'row')}, is kept as {kept}")


def _show(evaluation: Evaluation) -> None:
    """Show the model, its readers and the baselines as a table, then the verdicts, a sentence each."""
    from glassformer.evaluation.report import look_of, seconds, size

    look, duel = look_of(evaluation), evaluation.duel
    show(f"{evaluation.data.source}: {counted(evaluation.metrics.rows, 'text')}\n")
    lines = [("", *look.PLAIN, "trained in", "answers in", "size")]
    for each in (*reversed(duel.baselines), *duel.readers, duel.model):
        cost = (seconds(each.fit_seconds), seconds(each.predict_seconds), size(each.size_bytes))
        lines.append((each.name, *look.plain_cells(each), *cost))
    print_table(lines)
    show("")
    for sentence in filter(None, look.sentences(evaluation)):
        show(as_flags(sentence))
