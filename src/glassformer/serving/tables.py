"""Answer a table that was sent, and measure the answers if it has labels."""

import errno
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from glassformer.data.addresses import is_elsewhere
from glassformer.data.columns import find_columns, same_column
from glassformer.data.formats.format import Delimited
from glassformer.data.formats.workbook import WORKBOOK, refuse_lock
from glassformer.data.input_columns import composer
from glassformer.data.parts import MARK
from glassformer.data.rows import iterate_rows
from glassformer.data.sources import TableOptions
from glassformer.data.table import Table
from glassformer.errors import GlassformerError, UsageError, quoted
from glassformer.evaluation.evaluate_model import measure_model, read_measured
from glassformer.evaluation.measured import MeasuredRows, measures_of
from glassformer.evaluation.seen_rows import seen_rows
from glassformer.prediction.answer_files import csv_rows, refuse_taken, texts_in
from glassformer.prediction.folder_config import FolderConfig
from glassformer.serving.limits import Limits, RefusedError
from glassformer.serving.served_model import ServedModel
from glassformer.targets.answers import Answers

FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", *WORKBOOK.extensions)
"""Those whose reading takes bounded memory."""
ROWS_AT_ONCE = 64  # few, so that a text that is typed meanwhile is answered soon
ROWS_SHOWN = 10
_MOST_LEARNED = 100_000  # rows, which take a second to read
_NOT_LOOKED_UP = "Rows that the model learned were not looked for; `glassformer evaluate` looks for them"


@dataclass(frozen=True, kw_only=True)
class SentTable:
    """A table that was sent: its rows, the texts in them, and where the file lies for now.

    Attributes:
        like: how a CSV of answers is separated.
        label_column: the column that was named for the labels, if one was.
    """

    name: str
    path: Path
    like: Delimited
    frame: pl.DataFrame
    texts: list[str]
    text_column: str
    label_column: str | None


@contextmanager
def kept_for_now(name: str, content: bytes) -> Iterator[Path]:
    """Write a file, and delete it at the end of the `with` block.

    Args:
        name: of the file; that of a workbook may end in `#` and the name of a sheet.

    Raises:
        RefusedError: the table is of a kind that is not read here (422).
        UsageError: it is no table, by its name.
        GlassformerError: the disk is full, or there is no folder for it.
    """
    suffix, mark, sheet = Path(name).suffix.partition(MARK)
    if suffix.lower() not in FORMATS:
        raise RefusedError(
            422, f"{quoted(name)}: tables are read as {', '.join(FORMATS)}; `glassformer predict` reads other kinds"
        )
    if suffix.lower() in WORKBOOK.extensions:
        refuse_lock(Path(name).name)
    with ExitStack() as kept:
        try:
            path = Path(kept.enter_context(TemporaryDirectory(prefix="glassformer-"))) / f"table{suffix}"
            path.write_bytes(content)
        except OSError as error:
            why = os.strerror(error.errno or errno.EIO).lower()  # its own words may list folders
            raise GlassformerError(
                f"the server cannot keep the table while it answers: {why}; try again later"
            ) from error
        yield Path(f"{path}{mark}{sheet}")


def read_sent(
    path: Path, name: str, model: ServedModel, limits: Limits, *, text: str | None, label: str | None
) -> SentTable:
    """Read the rows of a table, and find its column of texts.

    Args:
        text, label: columns. By default the text is in that of the training table, if the table has it.

    Raises:
        RefusedError: it has too many rows, or a text is too long.
        UsageError: it cannot be read.
    """
    frames: list[pl.DataFrame] = []
    like, rows = [Delimited()], 0
    for frame in iterate_rows(path, rows_per_batch=4096, on_delimited=like.append):
        rows += frame.height
        if rows > limits.table_rows:
            raise RefusedError(
                422,
                f"{name} has more than {limits.table_rows:,} rows; `glassformer predict` answers tables of any size",
            )
        frames.append(frame)
    whole, inputs = pl.concat(frames), model.predictor.trained.config.inputs
    if inputs is None:
        learned = same_column(model.predictor.text_column, whole.columns)
        column = find_columns(frames[0], name, text=text or learned, label=label, group=None, labelled=False).text
        texts = texts_in(column)(whole)
    elif text is not None:
        raise UsageError(f"`text={text!r}`: the model finds {inputs.in_words} by their names; leave it out")
    else:
        column, texts = inputs.texts[0], composer(whole, inputs, name)(whole)
    limits.check_lengths(texts, "row")
    return SentTable(
        name=name, path=path, like=like[-1].as_csv, frame=whole, texts=texts, text_column=column, label_column=label
    )  # fmt: skip


def check_columns(table: SentTable, models: Mapping[str, ServedModel]) -> None:
    """Raise `UsageError` if the table has a column that the answers need, or if the models read different inputs."""
    inputs = [model.predictor.trained.config.inputs for model in models.values()]
    if any(each != inputs[0] for each in inputs):
        raise UsageError("these models read different inputs, so they cannot answer one table; serve each by itself")
    for model in models.values():
        refuse_taken(table.frame, model.columns, table.name)


def first_rows(table: SentTable, model: ServedModel) -> list[dict[str, str | None]] | None:
    """Return what a model of several inputs is asked in the first rows. None for a model that reads one text."""
    inputs = model.predictor.trained.config.inputs
    if inputs is None:
        return None
    frame = table.frame.head(ROWS_SHOWN)
    columns = {name: same_column(name, frame.columns) for name in inputs.names}
    return frame.select(
        pl.col(column).cast(pl.String).alias(name) for name, column in columns.items() if column
    ).to_dicts()


def table_of_answers(table: SentTable, model: ServedModel, answers: Answers) -> dict[str, Any]:
    """Return what the page shows of a model's answers, and all of them as CSV."""
    columns, written = answers.columns(), io.BytesIO()
    first = [name for name in columns.columns if not name.startswith("probability_")]
    like = replace(table.like, mark=False)  # the page adds it
    csv_rows(written.write, like, safe=True)(table.frame.hstack(columns))
    return {
        "model": model.name,
        "counts": dict(answers.counts().most_common()),
        "unanswered": int(answers.empty.sum()),
        "first": columns.head(ROWS_SHOWN).select(first).to_dicts(),
        "csv": written.getvalue().decode(),
    }


def labelled_rows(table: SentTable, model: ServedModel) -> Table | str:
    """Return the rows to measure on, or say why there are none."""
    try:
        config = model.whole.trained.config
        options = TableOptions(text=table.text_column, label=table.label_column)
        rows = read_measured(config, str(table.path), None, options)
        part = measures_of(config)
        part.notes(config, rows, part.truth_of(config, rows))
    except UsageError as error:
        if error.listing and table.label_column is None:
            return "no column is clearly that of the labels. If one is, name it with `label=`."
        return error.message.replace(str(table.path), table.name)
    return replace(rows, source=table.name)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured of a model, for the page, and the rows with its answers."""

    figures: dict[str, Any]
    rows: MeasuredRows
    config: FolderConfig


def measured(model: ServedModel, table: Table, answers: Answers, *, baselines: bool) -> Measured:
    """Measure a model, and with `baselines` also those of its kind of answer, trained on the rows that it saw."""
    config = model.whole.trained.config
    places = table.frame["row"].to_numpy() - 1
    seen = seen_rows(config, None, model.folder) if baselines or _are_near(config) else _NOT_LOOKED_UP
    scores = {
        name: config.target.weighed(added)[places] / config.weights[name]
        for name, added in answers.readers.items()
        if config.weights[name]
    }
    found, rows = measure_model(
        model.whole,
        model.folder,
        table,
        seen,
        split="the rows with text and label",
        with_baselines=baselines,
        scores=None if "rules" in scores else scores,  # where a rule decides, other readers add nothing
    )
    duel = found.duel
    contestants = [*reversed(duel.baselines), *duel.readers, duel.model]
    said = [duel.verdict if duel.baselines else None, duel.reader_verdict, found.metrics.remark]
    figures = {
        "model": model.name,
        "rows": found.metrics.rows,
        "contestants": [{"name": each.name, **each.metrics.beside} for each in contestants],
        "sentences": [sentence for sentence in said if sentence],
        "notes": [note for note in found.notes if note == _NOT_LOOKED_UP or note != seen],
        "baseline_missing": seen if baselines and isinstance(seen, str) else None,
    }
    return Measured(figures=figures, rows=rows, config=config)


def _are_near(config: FolderConfig) -> bool:
    """Whether the learned rows are few and on this machine. Others would be fetched for each table that is sent."""
    source = config.remembered.read_as
    if source is None:
        return True  # they are nowhere
    tables = (source.train, source.test, *source.added)
    return config.remembered.data.rows <= _MOST_LEARNED and not any(map(is_elsewhere, filter(None, tables)))


def compared(names: Sequence[str], both: Sequence[Measured]) -> str | None:
    """Say which of two models answers the same rows better. None if they answer with other things."""
    part = measures_of(both[0].config)
    ours, theirs = (each.config for each in both)
    if part is not measures_of(theirs) or part.why_not_compared(ours, theirs, fold=False):
        return None
    first, second = (replace(each.rows, seed=0) for each in both)
    about: dict[str, Any] = {"data": "", "data_sha256": "", "rows": len(first.truth), "notes": (), "seed": 0}
    return first.compared(second, model_a=names[0], model_b=names[1], **about).verdict
