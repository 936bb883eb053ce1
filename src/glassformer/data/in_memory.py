"""A table from a Python program: its texts or rows, and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from glassformer.data.documents import Documents
from glassformer.data.in_memory_labels import (
    as_numbers,
    as_weights,
    check_classes,
    given_labels,
    names_of,
    ordered_names,
)
from glassformer.data.in_memory_rows import as_texts, is_missing, learned_rows, listed, plain
from glassformer.data.inputs import BLANK, Inputs
from glassformer.data.splits import with_groups
from glassformer.data.table import NO_LABEL, Dropped, Table
from glassformer.data.wording import counted, label_name
from glassformer.errors import InputError, brief_value


def as_documents(texts: Iterable[Any], setting: str = "unlabelled") -> Documents:
    """Return texts without labels. Empty ones are left out.

    Raises:
        InputError: a text cannot be used (see `as_texts`), or all are empty.
    """
    if isinstance(texts, str):
        raise InputError(f"`{setting}={brief_value(texts)}`: give a list of texts, not one string")
    filled = [text for text in as_texts(texts) if text.strip()]
    if not filled:
        raise InputError(f"`{setting}=` holds no text; give texts, or leave it out")
    return Documents(texts=pl.Series(filled), source="texts in memory")


def settings_by_name(settings: Any) -> dict[str, Any]:
    """Return the settings as a dictionary. Raises `InputError` if they are not values by name."""
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
        raise InputError(f"settings is {brief_value(settings)}; give values by name, as in {{'training.clip': 0.5}}")
    return dict(settings)


def as_table(
    texts: Iterable[Any],
    labels: Any,
    weights: Any = None,
    *,
    groups: Any = None,
    text: Any = None,
    columns: Any = None,
    order: Any = None,
    levels: str | None = None,
    known: Inputs | None = None,
) -> tuple[Table, dict[str, Any]]:
    """Return the rows as a table, and the label value behind each label name.

    Rows with weight 0 are left out: nothing is learned from them. Rows whose label is missing are its `unlabelled`.
    Row 1 of the table is `texts[0]`.

    Args:
        texts: texts; or rows, as dictionaries or a frame, if `text` or `columns` name their inputs.
        groups: the group of each row (see `_grouped`).
        order: all labels, the lowest first, if their order is to be learned.

    Raises:
        InputError: the sizes differ, or a text, label or weight cannot be used (see the functions above).
    """
    values = given_labels(labels).values
    multilabel = any(isinstance(value, list) for value in values)
    if multilabel and not all(isinstance(value, list) for value in values):
        raise InputError("some texts have a list of labels and some a single label; give each text a list")
    by_name = names_of(values, multilabel=multilabel)
    names = _names(values, multilabel=multilabel)
    table = _table(learned_rows(texts, text, columns, known), names, weights, groups=groups, multilabel=multilabel)
    check_classes(table.frame["label"], multilabel=multilabel)
    if levels is not None and (multilabel or order is not None):
        raise InputError(f"`levels={levels!r}` is for classes, one for each text, such as levels=' > '; leave it out")
    order = None if order is None else ordered_names(order, by_name, values)
    return replace(table, order=order, levels=levels), by_name


def as_added_table(
    texts: list[str],
    labels: list[Any],
    known: Sequence[Any],
    inputs: Inputs | None,
    *,
    groups: Any = None,
    multilabel: bool,
) -> tuple[Table, dict[str, Any]]:
    """Return rows that a model learns later as a table, and the value behind each name of an old or new label.

    Args:
        texts: texts or rows as the model reads them (see `as_read`).

    Raises:
        InputError: see `as_table`; or the labels are of another kind than those of the model.
    """
    if odd := [number for number, label in enumerate(labels) if isinstance(label, list) != multilabel]:
        kind = "a list of labels for each text" if multilabel else "one label for each text"
        raise InputError(f"labels[{odd[0]}] is {brief_value(labels[odd[0]])}, and this model gives {kind}")
    by_name = names_of([*labels, list(known) if multilabel else known[0]], multilabel=multilabel)
    names = _names(labels, multilabel=multilabel)
    table = _added(_table((texts, inputs, "text"), names, groups=groups, multilabel=multilabel))
    return table, {label_name(label): label for label in known} | by_name


def as_number_table(
    texts: Iterable[Any],
    numbers: Any,
    *,
    groups: Any = None,
    text: Any = None,
    columns: Any = None,
    known: Inputs | None = None,
) -> Table:
    """Return the rows as a table whose labels are numbers.

    Raises:
        InputError: the sizes differ, a text or number cannot be used, or all numbers are the same.
    """
    values = as_numbers(numbers)
    rows = learned_rows(texts, text, columns, known)
    table = _table(rows, list(map(_repr, values)), groups=groups, each="number")
    if table.frame["label"].n_unique() < 2:
        counts = {0: "there is no text with a number", 1: "there is 1 sample"}
        what = counts.get(table.frame.height) or f"every text has the number {float(table.frame['label'][0]):g}"
        raise InputError(f"{what}, so there is nothing to learn; give texts with different numbers")
    return replace(table, label_column="number")


def as_added_numbers(texts: list[str], numbers: Any, inputs: Inputs | None, *, groups: Any = None) -> Table:
    """Return rows that a model of a number learns later as a table (see `as_added_table`)."""
    values = list(map(_repr, as_numbers(numbers)))
    return _added(_table((texts, inputs, "text"), values, groups=groups, each="number"))


def _names(values: Sequence[Any], *, multilabel: bool) -> list[Any]:
    """Return the name of each label, or of each list of labels. That of a missing one is None."""
    if multilabel:
        return [[label_name(each) for each in value] for value in values]
    return [None if value is None else label_name(value) for value in values]


def _repr(number: float | None) -> str | None:
    return None if number is None else repr(number)


def _added(table: Table) -> Table:
    if table.frame.is_empty():
        raise InputError("there is no text to add")
    return replace(table, source="the added rows")


def _table(
    rows: tuple[list[str], Inputs | None, str],
    labels: list[Any],
    weights: Any = None,
    *,
    groups: Any = None,
    multilabel: bool = False,
    each: str = "label",
) -> Table:
    texts, inputs, column = rows
    if len(texts) != len(labels):
        raise unequal(len(texts), len(labels), each)
    empty = [number for number, text in enumerate(texts, 1) if not text.strip()]
    frame = pl.DataFrame(
        {"row": range(1, len(texts) + 1), "text": texts, "label": labels},
        schema={"row": pl.UInt32, "text": pl.String, "label": pl.List(pl.String) if multilabel else pl.String},
    )
    if groups is not None:
        frame = _grouped(frame, groups)
    if weights is not None:
        frame = frame.with_columns(weight=pl.Series(as_weights(weights, len(texts)))).filter(pl.col("weight") > 0)
    frame = frame.filter(~pl.col("text").str.contains(BLANK))
    lacks_label = frame["label"].is_null()
    dropped = {"empty text": empty, NO_LABEL: frame["row"].filter(lacks_label).to_list()}
    table = Table(
        frame=frame.filter(~lacks_label),
        source="rows in memory",
        text_column=column,
        label_column="label",
        multilabel=multilabel,
        dropped=tuple(Dropped(reason=reason, rows=rows) for reason, rows in dropped.items() if rows),
        inputs=inputs,
        unlabelled=frame.filter(lacks_label) if lacks_label.any() else None,
    )
    return table if groups is None else with_groups(table)


def _grouped(frame: pl.DataFrame, groups: Any) -> pl.DataFrame:
    """Add the group of each row: a value of any kind, or None.

    Raises:
        InputError: there are more or fewer.
    """
    names = [None if is_missing(value) else label_name(plain(value)) for value in listed(groups, "groups")]
    if len(names) != frame.height:
        raise unequal(frame.height, len(names), "group")
    try:
        return frame.with_columns(group=pl.Series(names, dtype=pl.String).str.normalize("NFC"))
    except UnicodeEncodeError as error:
        raise InputError(f"a group holds half of a surrogate pair: {brief_value(error.object)}") from error


def unequal(texts: int, labels: int, each: str = "label") -> InputError:
    """Return the error for texts and labels, or whatever `each` of them has, of different numbers."""
    return InputError(f"{counted(texts, 'text')} but {counted(labels, each)}; give each text its {each}")
