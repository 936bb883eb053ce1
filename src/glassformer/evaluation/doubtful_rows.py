"""The labels of training that a model doubts, with their texts if the training table can still be read."""

import shlex
from typing import Any

import polars as pl

from glassformer.data.inputs import texts_alone
from glassformer.data.known import KNOWN
from glassformer.data.splits import Splits
from glassformer.data.wording import in_option
from glassformer.evaluation.weak_spots import DoubtfulRows
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.label_doubts import doubts_in
from glassformer.prediction.model_folder import TrainedModel

_LONGEST_TEXT = 320  # characters


def doubtful_rows(
    trained: TrainedModel, found_as: type[DoubtfulRows[Any]], seen: Splits | str
) -> DoubtfulRows[Any] | None:
    """Return the doubtful rows that the model folder remembers, or None if there are none.

    Args:
        found_as: their record in the result.
        seen: the rows that the model was trained and validated on, or why they cannot be read.
    """
    doubts = doubts_in(trained.metrics)
    if doubts is None:
        return None
    rows = None if isinstance(seen, str) else (seen.validation or seen.train).frame
    return found_as(
        source=doubts.source,
        rows=doubts.rows,
        doubtful=doubts.doubtful,
        listed=tuple({**each.model_dump(), "text": _text_of(each.row, each.label, rows)} for each in doubts.listed),
        command=labels_command(trained.config),
        cross_fitted=trained.config.data.get("validation_rows") == 0,
    )


def _text_of(row: int, label: str, rows: pl.DataFrame | None) -> str | None:
    """Return the beginning of the text of a row. None if the table has another label there, so it is another row."""
    if rows is None:
        return None
    found = rows.filter((pl.col("row") == row) & (pl.col("label") == label))["text"]
    if not len(found):
        return None
    text = texts_alone(found[0])
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def labels_command(config: FolderConfig) -> str | None:
    """Return the command that checks the labels of the whole training table, with its flags as settings.

    Returns:
        None if the command cannot: the rows came from memory or from several tables, or got their labels from a
        teacher.
    """
    read_as = config.remembered.data.read_as
    if read_as is None or read_as.added or "teacher" in config.data:
        return None
    group = None if read_as.train in KNOWN else config.remembered.recipe.validation.group
    texts, columns = (read_as.text, *read_as.other_texts), map(in_option, read_as.columns)
    named = [*(("text", name) for name in texts), *(("columns", name) for name in columns)]
    named += [("label", name) for name in (read_as.label, *read_as.lower)]
    order = None if read_as.order is None else ",".join(map(in_option, read_as.order))
    named += [
        ("multilabel", read_as.multilabel),
        ("task", None if read_as.multilabel or read_as.levels else read_as.task),
        ("order", order),
        ("levels", read_as.levels),
    ]
    settings = [f"`{name}={value!r}`" for name, value in [*named, ("group", group)] if value is not None]
    settings += [] if read_as.encoding is None else [f"`encoding={read_as.encoding!r}`"]
    settings += ["`fold_labels=True`"] if read_as.fold_labels else []
    return " ".join(["glassformer labels", shlex.quote(read_as.train), *settings])
