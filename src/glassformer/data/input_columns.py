"""The columns of several inputs: learn how their values are read, and compose the rows of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
import polars as pl

from glassformer.data.column_kinds import is_named_as_id, is_near_unique, is_opaque, kind_of
from glassformer.data.columns import check_once, listing, same_column
from glassformer.data.inputs import (
    BLANK,
    MISSING,
    OTHER,
    RESERVED,
    SEPARATOR,
    Category,
    Column,
    Inputs,
    Number,
    as_number,
    is_misread,
    is_plain_name,
    mark,
    plain_value,
    value_key,
)
from glassformer.data.table import Table, kept_name, tidy_values
from glassformer.data.wording import counted, did_you_mean
from glassformer.errors import UsageError, quoted

QUANTILES = 10
FEWEST_ROWS = 3  # of a category. Rarer ones teach what `other` means
MOST_CATEGORIES = 1_000
LEAST_SHARE = 0.05  # of the rows with a value, which the categories must cover; free text covers less


def check_inputs(texts: Sequence[str | None], columns: Sequence[str], **others: str | None) -> None:
    """Raise `UsageError` if a column is asked for twice, or as two things. `others`: columns by their settings."""
    names = [*(("text", name) for name in texts), *(("columns", name) for name in columns)]
    check_once([*names, *others.items()])
    odd = [name for _, name in names if name and not is_plain_name(name)]
    if odd and len(names) > 1:
        raise UsageError(f"The name of the column {quoted(odd[0])} has a character that is reserved; rename it.")


def learn_inputs(table: Table, texts: Sequence[str], columns: Sequence[str]) -> Inputs:
    """Learn how the columns of a training table are read. `texts` are those beside the first one.

    Raises:
        UsageError: a column holds ids, links, e-mail addresses, dates, lists or texts, has no value, or only one.
    """
    learned = tuple(_learned(table.frame[kept_name(name)], name, table.source) for name in columns)
    return Inputs(texts=(table.text_column, *texts), columns=learned)


def composed(table: Table, inputs: Inputs) -> Table:
    """Return the table with composed rows in place of the texts. Its frame must hold all columns of the inputs."""
    unlabelled = None if table.unlabelled is None else _composed(table.unlabelled, inputs)
    return replace(table, frame=_composed(table.frame, inputs), unlabelled=unlabelled, inputs=inputs)


def _composed(kept: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
    frame = kept.rename({"text": kept_name(inputs.texts[0])})
    texts = compose_frame(frame.select(pl.col(kept_name(name)).alias(name) for name in inputs.names), inputs)
    left = [name for name in frame.columns if name not in map(kept_name, inputs.names)]
    return frame.select(left).insert_column(kept.columns.index("text"), texts.alias("text"))


def compose_frame(frame: pl.DataFrame, inputs: Inputs) -> pl.Series:
    """Return the rows of a frame as strings, as `Inputs.compose` returns one. Missing texts are empty."""
    texts = [frame[name].cast(pl.String).fill_null("").str.replace_all(RESERVED, "") for name in inputs.texts]
    marks = [_marks(frame[column.name], column) for column in inputs.columns]
    joined = pl.select(pl.concat_str(*marks, pl.concat_str(*texts, separator=SEPARATOR))).to_series()
    blank = pl.select(pl.all_horizontal(*(text.str.contains(BLANK) for text in texts))).to_series()
    return pl.select(pl.when(blank).then(pl.lit("")).otherwise(joined)).to_series()


def composer(
    sample: pl.DataFrame,
    inputs: Inputs,
    source: str,
    on_misread: Callable[[list[tuple[str, int, str]], int], None] | None = None,
) -> Callable[[pl.DataFrame], list[str]]:
    """Return a function that composes the rows of frames like this one.

    Args:
        on_misread: is called for each frame with what `first_misread` finds, and the number of rows.

    Raises:
        UsageError: an input has no column, or one that holds lists or records.
    """
    columns = {name: same_column(name, sample.columns) for name in inputs.names}
    if missing := [name for name, column in columns.items() if column is None]:
        raise UsageError(
            f"{source} has no column {quoted(missing[0])}; this model reads {inputs.in_words}."
            f"{did_you_mean(missing[0], sample.columns)} Rename or add the column; its cells may be empty. The table "
            "has:",
            listing(sample, sample.columns),
        )
    if opaque := [column for column in columns.values() if column and is_opaque(sample.schema[column])]:
        raise UsageError(f"{source}: the column {quoted(opaque[0])} holds {sample.schema[opaque[0]]}, not one value")

    def composed_rows(frame: pl.DataFrame) -> list[str]:
        own = frame.select(pl.col(column).alias(name) for name, column in columns.items() if column)
        if on_misread is not None:
            on_misread(first_misread(own, inputs), own.height)
        return compose_frame(own, inputs).to_list()

    return composed_rows


def first_misread(frame: pl.DataFrame, inputs: Inputs) -> list[tuple[str, int, str]]:
    """Return the columns of numbers that hold something else: their names, and the place and value of the first."""
    found = []
    for name in (column.name for column in inputs.columns if isinstance(column, Number)):
        cells = tidy_values(frame[name])
        odd = cells.is_in([each for each in cells.unique() if is_misread(each)]).arg_true()
        if len(odd):
            found.append((name, int(odd[0]), str(cells[int(odd[0])])))
    return found


def _marks(values: pl.Series, column: Column) -> pl.Series:
    """Return how the cells of a column stand in composed rows."""
    cells = tidy_values(values)
    distinct = cells.unique()
    return cells.replace_strict(
        distinct, [mark(column.name, column.value_of(each)) for each in distinct], return_dtype=pl.String
    )


def _learned(values: pl.Series, name: str, source: str) -> Column:
    kind, place = kind_of(values), f"{source}: the column {quoted(name)}"
    present = values.drop_nulls()
    ids = kind == "ids" or (is_named_as_id(name) and is_near_unique(values))
    if kind == "empty":
        _refuse(f"{place} is empty")
    if present.n_unique() == 1 and len(present) == len(values):
        _refuse(f"{place} holds {quoted(present[0])} in every row")
    if kind == "e-mail addresses":
        _refuse(f"{place} holds e-mail addresses, which name persons and say nothing about new rows")
    if ids or kind in ("dates", "links", "lists or records"):
        why = f"{place} holds {'ids' if ids else kind}, which say nothing about new rows"
        _refuse(why, "make a category or a number of it, or ")
    if kind in ("whole numbers", "decimal numbers"):
        return _number(present, name, place)
    return _category(present, name, place)


def _number(values: pl.Series, name: str, place: str) -> Number:
    numbers = np.array([number for number in map(as_number, values) if number is not None])
    distinct = np.unique(numbers)
    if len(distinct) < 2:
        _refuse(f"{place} holds one number only")
    edges = distinct[1:]
    if len(distinct) > QUANTILES:
        edges = np.unique(np.quantile(numbers, np.arange(1, QUANTILES) / QUANTILES, method="higher"))
    return Number(name=name, edges=tuple(edges[edges > distinct[0]].tolist()))


def _category(values: pl.Series, name: str, place: str) -> Category:
    """Take the categories that occur often enough, each in its most frequent spelling."""
    spelled: dict[str, str] = {}
    rows: Counter[str] = Counter()
    for spelling, count in Counter(plain for each in values if (plain := plain_value(each))).most_common():
        spelled.setdefault(value_key(spelling), spelling)
        rows[value_key(spelling)] += count
    frequent = [key for key, count in rows.most_common(MOST_CATEGORIES) if count >= FEWEST_ROWS]
    if sum(rows[key] for key in frequent) < LEAST_SHARE * len(values):
        _refuse(
            f"{place} has a different value in nearly every row, so it is not a category",
            "name texts with `text=`, or ",
        )
    known = tuple(spelled[key] for key in frequent if key not in (MISSING, OTHER))
    if not known:
        _refuse(f"{place} holds no category but {quoted(MISSING)} or {quoted(OTHER)}, which say nothing")
    return Category(name=name, values=known)


def _refuse(why: str, instead: str = "") -> NoReturn:
    raise UsageError(f"{why}; {instead}leave it out of `columns=`.")


def described(table: Table, inputs: Inputs) -> list[str]:
    """Say how the columns of a training table are read, a sentence each."""
    notes = [f"texts: {' and '.join(map(quoted, inputs.texts))}"] if len(inputs.texts) > 1 else []
    own = table.frame.select(pl.col(kept_name(column.name)).alias(column.name) for column in inputs.columns)
    misread = {name: value for name, _, value in first_misread(own, inputs)}
    for column in inputs.columns:
        values = _marks(own[column.name], column)
        rows = {value: int((values == mark(column.name, value)).sum()) for value in (MISSING, OTHER)}
        if isinstance(column, Number):
            what = f"numbers, in {counted(len(column.edges) + 1, 'quantile')}"
        else:
            what = counted(len(column.values), "category", "categories")
            what += f", {counted(rows[OTHER], 'row has', 'rows have')} a rarer one" if rows[OTHER] else ""
        missing = f", {counted(rows[MISSING], 'row has', 'rows have')} none" if rows[MISSING] else ""
        odd = f" (such as {quoted(misread[column.name])}, which is not a number)" if column.name in misread else ""
        notes.append(f"column {quoted(column.name)}: {what}{missing}{odd}")
    return notes
