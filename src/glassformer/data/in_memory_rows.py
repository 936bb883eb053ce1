"""Texts and rows from a Python program: lists, arrays, series, frames, and dictionaries."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from glassformer.data.column_names import may_name_text
from glassformer.data.encodings import half_of_pair
from glassformer.data.input_columns import check_inputs, learn_inputs
from glassformer.data.inputs import Inputs, plain_value
from glassformer.data.table import Table, kept_name
from glassformer.errors import InputError, UsageError, brief_value, quoted

_BETWEEN = ("glassformer", "sklearn", "joblib")  # the packages between a user's program and a warning


def as_texts(texts: Iterable[Any]) -> list[str]:
    """Return the texts of a sequence, a generator, or an array or frame of one column as a list.

    Raises:
        InputError: a frame has several columns, the texts have no order or are not a list, or a text is not a string.
    """
    found = listed(texts, "texts")
    for number, text in enumerate(found):
        if not isinstance(text, str):
            of_polars = isinstance(texts, pl.Series | pl.DataFrame)
            fill = "polars by texts.fill_null('')" if of_polars else "pandas by texts.fillna('')"
            hint = f" Fill missing texts, in {fill}, or leave out these rows." if is_missing(text) else ""
            raise InputError(f"texts[{number}] is {brief_value(text)} ({type(text).__name__}), not a string.{hint}")
        if half_of_pair(text) is not None:
            half = f"holds half of a surrogate pair, which is not a character: {brief_value(text)}"
            raise InputError(f"texts[{number}] {half}")
    return found


def as_read(given: Iterable[Any], inputs: Inputs | None, column: str) -> list[str]:
    """Return texts as a model reads them.

    Args:
        given: texts (see `as_texts`), or rows: dictionaries, or a frame. A model of several inputs reads rows only.
        column: of rows, the column of the text that a model of one text reads.
    """
    if inputs is None:
        return as_texts(_column_of(given, column, f"this model reads the text {quoted(column)}"))
    return _composed(_rows_with(given, inputs.names, f"this model reads {inputs.in_words}"), inputs)


def is_row(given: Any) -> bool:
    """Whether this is a row, not a text: a dictionary, or a series of pandas."""
    return isinstance(given, Mapping) or hasattr(given, "to_dict")


def learned_rows(
    given: Iterable[Any], text: Any, columns: Any, known: Inputs | None = None
) -> tuple[list[str], Inputs | None, str]:
    """Return rows to learn from as strings, how their inputs are read, and the column of the first text.

    Args:
        text, columns: the columns of the texts, and those beside the texts. None names none.
        known: the inputs of the weights to start from, if they read several. The rows are then read so.

    Raises:
        InputError: a text cannot be used, other inputs are known, rows lack a column, or one cannot be learned from.
    """
    texts, beside = _columns_named("text", text), _columns_named("columns", columns)
    if known is not None:
        if (texts or beside) and (*texts, *beside) != known.names:
            raise InputError(f"the weights to start from read {known.in_words}; leave out `text=` and `columns=`")
        return as_read(given, known, known.texts[0]), known, known.texts[0]
    if beside and not texts:
        raise InputError("`columns=` needs a text too; name it, as in `text='review'`")
    if len(texts) < 2 and not beside:
        way = "name the column of the texts, as in `text='review'`" if not texts else f"`text=` names {texts[0]!r}"
        return as_texts(_column_of(given, texts[0] if texts else None, way)), None, texts[0] if texts else "text"
    names = (*texts, *beside)
    try:
        check_inputs(texts, beside)
        rows = _rows_with(given, names, f"`text=` and `columns=` name {', '.join(map(quoted, names))}")
        cells = {name: [plain_value(row[name]) for row in rows] for name in beside}
        frame = pl.DataFrame({kept_name(name): pl.Series(values, dtype=pl.String) for name, values in cells.items()})
        table = Table(frame=frame, source="rows in memory", text_column=texts[0], label_column=None)
        inputs = learn_inputs(table, texts[1:], beside)
    except InputError:
        raise
    except UsageError as error:
        raise InputError(error.message) from error
    except UnicodeEncodeError as error:
        raise InputError(
            f"a row holds half of a surrogate pair, which is not a character: {brief_value(error.object)}"
        ) from error
    return _composed(rows, inputs), inputs, texts[0]


def _columns_named(setting: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else () if given is None else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InputError(f"`{setting}={brief_value(given)}`: give the name of a column, or a list of names")
    return tuple(names)


def _column_of(given: Any, column: str | None, reads: str) -> Any:
    """Return one column of a frame of several columns, or of a list of dictionaries. Anything else stays as it is."""
    names = _column_names(given)
    if len(names) > 1:
        if column in names:
            return given[column]
        alone = f"frame[{next(filter(may_name_text, names), names[0])!r}]"
        raise InputError(f"the frame has the columns {brief_value(names)}; {reads}. Or give one column: {alone}")
    if isinstance(given, list | tuple) and given and isinstance(given[0], Mapping):
        if column is None:
            raise InputError(f"texts[0] is a row: {brief_value(given[0])}; {reads}")
        return [row[column] for row in _rows_with(given, (column,), reads)]
    return given


def _rows_with(given: Any, names: Sequence[str], reads: str) -> list[Any]:
    """Return the rows of a frame, or of a list of dictionaries, with plain Python values."""
    columns = _column_names(given)
    if columns and (missing := [name for name in names if name not in columns]):
        raise InputError(f"the frame has no column {quoted(missing[0])}; {reads}. It has {brief_value(columns)}")
    if hasattr(given, "iter_rows"):  # of polars
        rows = list(given.iter_rows(named=True))
    elif columns:  # of pandas
        rows = given.to_dict("records")
    else:
        rows = [given] if isinstance(given, str) or is_row(given) else listed(given, "rows")
        rows = [row.to_dict() if hasattr(row, "to_dict") else row for row in rows]
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            example = dict.fromkeys(names, "…")
            raise InputError(f"rows[{number}] is {brief_value(row)}, not a row; {reads}. Give a row: {example}")
        if missing := [name for name in names if name not in row]:
            raise InputError(f"rows[{number}] has no {quoted(missing[0])}; {reads}. For a missing value give None")
    # The `NA` of pandas cannot be compared.
    return [
        {name: None if type(row[name]).__name__ == "NAType" else plain(row[name]) for name in names} for row in rows
    ]


def _column_names(given: Any) -> list[str]:
    """Return the names of the columns of a frame, or none for anything else."""
    return list(map(str, given.columns)) if hasattr(given, "shape") and hasattr(given, "columns") else []


def _composed(rows: Iterable[Any], inputs: Inputs) -> list[str]:
    composed, odd = [], dict[str, str]()
    for number, row in enumerate(rows):
        try:
            composed.append(inputs.compose(row))
        except InputError as error:
            raise InputError(f"rows[{number}]: {error.message}") from error
        for name, value in inputs.misread(row):
            odd.setdefault(name, f"rows[{number}] has {quoted(value)} in {quoted(name)}")
    for first in odd.values():
        warn_caller(f"{first}, which is not a number; such values are read as missing")
    return composed


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the program that called us, be it through scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def listed(values: Any, what: str) -> list[Any]:
    """Return the values of an ordered iterable, or of the only column of a frame or array."""
    if isinstance(values, str | bytes):
        raise InputError(f"give a list of {what}, not one string")
    if isinstance(values, Mapping | set | frozenset):
        raise InputError(f"give a list of {what}, not a {type(values).__name__}")
    shape = getattr(values, "shape", ())
    if isinstance(shape, tuple) and len(shape) > 1:
        columns = getattr(values, "columns", None)
        if shape[1:] != (1,):
            names = "" if columns is None else f", with the columns {brief_value(list(map(str, columns)))}"
            lists = ", or a list of labels for each text" if what == "labels" else ""
            raise InputError(f"the {what} are a matrix of shape {shape}{names}; give the column of {what}{lists}")
        dense = values.toarray() if hasattr(values, "toarray") else values  # of SciPy, whose arrays are sparse
        values = np.asarray(dense)[:, 0] if columns is None else values[columns[0]]
    try:
        return list(values if hasattr(values, "__iter__") or not hasattr(values, "__array__") else np.asarray(values))
    except TypeError as error:
        raise InputError(f"give a list of {what}, not {brief_value(values)}") from error


def plain(label: Any) -> Any:
    """Convert NumPy scalars and arrays to plain Python values."""
    if isinstance(label, (list, tuple, set, frozenset, np.ndarray)):
        return [plain(each) for each in label]
    return label.item() if isinstance(label, np.generic) else label


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, masked by NumPy, or the `NA` or `NaT` of pandas."""
    nan = isinstance(value, float | np.floating) and value != value
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")
