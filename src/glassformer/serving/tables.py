"""Answer a table that was sent, and measure the answers if it has labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from glassformer.data.arrays import Array
from glassformer.data.columns import find_columns, same_column
from glassformer.data.input_columns import composer
from glassformer.data.rows import iterate_rows
from glassformer.data.sources import read_like_training
from glassformer.data.table import Table
from glassformer.data.wording import label_name
from glassformer.errors import UsageError, quoted
from glassformer.evaluation.evaluate_model import measure_model
from glassformer.evaluation.metrics import correct_rows
from glassformer.evaluation.seen_rows import remembered_rows
from glassformer.evaluation.verdict import rarely_found
from glassformer.prediction.answered_rows import refuse_taken, texts_in
from glassformer.serving.limits import Limits, RefusedError
from glassformer.serving.served_model import ServedModel
from glassformer.targets.answers import Answers
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.labels.evaluation_comparison import compare_right_rows
from glassformer.targets.labels.evaluation_result import LabelEvaluation

FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson")
ROWS_AT_ONCE = 64  # few, so that a text that is typed meanwhile is answered soon
ROWS_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class SentTable:
    """A table that was sent: its rows, the texts in them, and where the file lies for now.

    Attributes:
        label_column: the column that was named for the labels, if one was.
    """

    name: str
    path: Path
    frame: pl.DataFrame
    texts: list[str]
    text_column: str
    label_column: str | None


@contextmanager
def kept_for_now(name: str, content: bytes) -> Iterator[Path]:
    """Write a file, and delete it at the end of the `with` block.

    Raises:
        RefusedError: the table is of a kind that is not read here (422).
    """
    suffix = Path(name).suffix.lower()
    if suffix not in FORMATS:
        raise RefusedError(
            422, f"{quoted(name)}: tables are read as {', '.join(FORMATS)}; `glassformer predict` reads other kinds"
        )
    with TemporaryDirectory(prefix="glassformer-") as folder:
        path = Path(folder) / f"table{suffix}"
        path.write_bytes(content)
        yield path


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
    rows = 0
    for frame in iterate_rows(path, rows_per_batch=4096):
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
    return SentTable(name=name, path=path, frame=whole, texts=texts, text_column=column, label_column=label)


def check_columns(table: SentTable, models: Mapping[str, ServedModel]) -> None:
    """Raise `UsageError` if the table has a column that the answers need, or if the models read different inputs."""
    inputs = [model.predictor.trained.config.inputs for model in models.values()]
    if any(each != inputs[0] for each in inputs):
        raise UsageError("these models read different inputs, so they cannot answer one table; serve each by itself")
    for model in models.values():
        refuse_taken(table.frame, model.target.columns, table.name)


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
    columns = answers.columns()
    first = [name for name in columns.columns if not name.startswith("probability_")]
    return {
        "model": model.name,
        "counts": dict(answers.counts().most_common()),
        "unanswered": int(answers.empty.sum()),
        "first": columns.head(ROWS_SHOWN).select(first).to_dicts(),
        "csv": table.frame.hstack(columns).write_csv(),
    }


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """The rows of a sent table that have a text and a label, with the labels as a model knows them."""

    table: Table
    labels: Array
    names: tuple[str, ...]
    right: Array


def labelled_rows(table: SentTable, model: ServedModel, answers: Answers) -> Labelled | str:
    """Return the rows to measure on, or say why there are none."""
    if not isinstance(answers, LabelAnswers):
        return "`glassformer evaluate` measures a model that answers with a number."
    try:
        config = model.whole.trained.config
        remembered, labels = config.remembered, config.label_set
        rows = read_like_training(
            str(table.path),
            remembered.read_as,
            None,
            text=table.text_column,
            label=table.label_column,
            multilabel=None,
            labels=labels.names,
            inputs=config.inputs,
            fold=remembered.fold_labels,
        )
        encoded = labels.encode(rows)
    except UsageError as error:
        if error.listing and table.label_column is None:
            return "no column is clearly that of the labels. If one is, name it with `label=`."
        return error.message.replace(str(table.path), table.name)
    places = rows.frame["row"].to_numpy() - 1
    return Labelled(
        table=replace(rows, source=table.name),
        labels=encoded,
        names=labels.names,
        right=correct_rows(answers.probs[places], encoded, multilabel=config.multilabel),
    )


def measured(model: ServedModel, labelled: Labelled, answers: Answers, *, baselines: bool) -> dict[str, Any]:
    """Measure a model, and with `baselines` also TF-IDF + logistic regression, trained on the rows that it saw."""
    config = model.whole.trained.config
    places = labelled.table.frame["row"].to_numpy() - 1
    seen = (
        remembered_rows(config.remembered, config.label_set.encode, None) if baselines else "No baseline was measured."
    )
    weights = config.weights
    found, _ = measure_model(
        model.whole,
        model.folder,
        labelled.table,
        seen,
        split="the rows with text and label",
        scores={
            name: logits[places] * config.temperature / weights[name]
            for name, logits in answers.readers.items()
            if weights[name]
        },
    )
    duel = found.duel
    contestants = [*reversed(duel.baselines), *duel.readers, duel.model]
    return {
        "model": model.name,
        "rows": found.metrics.rows,
        "contestants": [
            {
                "name": each.name,
                "accuracy": each.metrics.accuracy.model_dump(),
                "macro_f1": each.metrics.macro_f1.model_dump(),
                "log_loss": each.metrics.log_loss,
            }
            for each in contestants
        ],
        "sentences": _sentences(found),
        "notes": [note for note in found.notes if note != seen],
        "baseline_missing": seen if baselines and isinstance(seen, str) else None,
    }


def _sentences(found: LabelEvaluation) -> list[str]:
    said = [
        found.duel.verdict if found.duel.baselines else None,
        found.duel.reader_verdict,
        rarely_found(found.metrics),
    ]
    return [sentence for sentence in said if sentence]


def compared(names: Sequence[str], labelled: Sequence[Labelled], macro_f1: Sequence[float]) -> str | None:
    """Say which of two models is more accurate on the same rows. None if they have other labels."""
    if len({tuple(sorted(map(label_name, each.names))) for each in labelled}) > 1:
        return None
    return compare_right_rows((names[0], names[1]), [each.right for each in labelled], macro_f1).verdict
