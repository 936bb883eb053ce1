"""Texts and labels from a Python program: lists, arrays, series, and frames with one column."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from sklearn.exceptions import DataConversionWarning

from glassformer.data.documents import Documents
from glassformer.data.input_columns import Asked, learn_inputs
from glassformer.data.inputs import Inputs, plain_value
from glassformer.data.spellings import joined_spellings
from glassformer.data.table import Dropped, Table, kept_name
from glassformer.data.wording import counted, label_name
from glassformer.errors import InputError, UsageError, brief_value

_SHOWN = 80  # characters of a value in a message
_BETWEEN = ("glassformer", "sklearn", "joblib")  # the packages between a user's program and a warning


def as_texts(texts: Iterable[Any]) -> list[str]:
    """Return the texts of a sequence, a generator, or an array or frame of one column as a list.

    Raises:
        InputError: a frame has several columns, the texts have no order or are not a list, or a text is not a string.
    """
    listed = _listed(texts, "texts")
    for number, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(
                f"texts[{number}] is {_shown(text)} ({type(text).__name__}), not a string.{_way_out(text, texts)}"
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"texts[{number}] cannot be encoded: {error.reason}: {_shown(text)}") from error
    return listed


def as_read(given: Iterable[Any], inputs: Inputs | None) -> list[str]:
    """Return texts as a model reads them.

    Args:
        given: texts (see `as_texts`). For a model that reads several inputs, rows: dictionaries, or a frame.

    Raises:
        InputError: see `as_texts` and `Inputs.compose`.
    """
    if inputs is None:
        return as_texts(given)
    return [inputs.compose(row) for row in _rows(given)]


def _rows(given: Any) -> list[Any]:
    """Return the rows of a frame, or of a list of dictionaries, with plain Python values."""
    if hasattr(given, "iter_rows"):  # of polars
        return list(given.iter_rows(named=True))
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # of pandas
        given = given.to_dict("records")
    rows = [given] if isinstance(given, str | Mapping) else list(given)
    return [{name: _cell(each) for name, each in row.items()} if isinstance(row, Mapping) else row for row in rows]


def _cell(value: Any) -> Any:
    """Return a NumPy scalar as a Python value, and the `NA` of pandas, which cannot be compared, as None."""
    return None if type(value).__name__ == "NAType" else _plain(value)


def class_weights(given: Any, by_name: Mapping[str, Any]) -> Any:
    """Return the recipe's `training.class_weights` for the parameter `class_weight` of scikit-learn.

    Raises:
        InputError: it names a label that there is not, or is something else.
    """
    if isinstance(given, Mapping):
        weights = {label_name(label): weight for label, weight in given.items()}
        if unknown := sorted(weights.keys() - by_name.keys()):
            raise InputError(f"class_weight names {unknown[0]!r}, which is not a label of y")
        return dict.fromkeys(by_name, 1.0) | weights
    if given not in (None, "balanced"):
        raise InputError(f"class_weight is {given!r}; give 'balanced', a weight by label, or None")
    return given


def as_documents(texts: Iterable[Any], setting: str = "unlabelled") -> Documents:
    """Return texts without labels. Empty ones are left out.

    Args:
        setting: the name of the setting that gives them.

    Raises:
        InputError: a text cannot be used (see `as_texts`), or all are empty.
    """
    if isinstance(texts, str):
        raise InputError(f"`{setting}={brief_value(texts)}`: give a list of texts, not one string")
    filled = [text for text in as_texts(texts) if text.strip()]
    if not filled:
        raise InputError(f"`{setting}=` holds no text; give texts, or leave it out")
    return Documents(texts=pl.Series(filled), source="texts in memory")


def plain_labels(labels: Iterable[Any]) -> list[Any]:
    """Return the labels as a list of plain Python values. A shape of (n, 1) is accepted with scikit-learn's warning.

    Raises:
        InputError: there are several columns.
    """
    if labels is None:
        raise InputError("fit requires y to be passed, but the target y is None; give the label of each text")
    taken = [_plain(label) for label in _listed(labels, "labels")]
    if len(getattr(labels, "shape", ())) > 1:
        warn_caller(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
            "for example using ravel().",  # scikit-learn's own words
            DataConversionWarning,
        )
    return taken


def folded(labels: list[Any], names: Sequence[str] | None = None) -> list[Any]:
    """Replace other spellings of labels (see `joined_spellings`). Labels that are not strings stay as they are."""
    flat = [label for value in labels for label in (value if isinstance(value, list) else [value])]
    replaced = joined_spellings([label for label in flat if isinstance(label, str)], names)

    def folded(label: Any) -> Any:
        return replaced.get(label, label) if isinstance(label, str) else label

    return [list(dict.fromkeys(map(folded, value))) if isinstance(value, list) else folded(value) for value in labels]


def settings_by_name(settings: Any) -> dict[str, Any]:
    """Return the settings as a dictionary. Raises `InputError` if they are not values by name."""
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
        raise InputError(f"settings is {brief_value(settings)}; give values by name, as in {{'training.clip': 0.5}}")
    return dict(settings)


def as_weights(weights: Any, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return one weight per row.

    Raises:
        InputError: there are more or fewer weights than rows, a weight is negative, infinite or NaN, or their sum is 0
            or too large.
    """
    try:
        array = np.full(count, weights, dtype=np.float64) if np.isscalar(weights) else np.asarray(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("sample_weight holds something that is not a number") from error
    if array.shape != (count,):
        raise InputError(f"sample_weight has the shape {array.shape}; give one number for each text, {count:,} in all")
    if not (np.isfinite(array) & (array >= 0)).all():
        first = int(np.flatnonzero(~(np.isfinite(array) & (array >= 0)))[0])
        raise InputError(f"sample_weight[{first}] is {array[first]}; weights must be finite and not negative")
    if array.sum() > np.finfo(np.float32).max:
        raise InputError(f"sample_weight adds up to {array.sum():.3g}, too much for float32; give smaller weights")
    if not array.any():
        raise InputError("every sample_weight is zero; give some texts a weight")
    return array


def as_table(
    texts: Iterable[Any],
    labels: Iterable[Any],
    weights: Any = None,
    *,
    text: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[Table, dict[str, Any]]:
    """Return the rows as a table, and the label value behind each label name.

    Rows with weight 0 are left out: nothing is learned from them. Row 1 of the table is `texts[0]`.

    Args:
        texts: texts; or rows, as dictionaries or a frame, if `text` or `columns` name their inputs.

    Raises:
        InputError: the sizes differ, or a text, label or weight cannot be used (see the functions above).
    """
    listed, inputs = _composed(texts, text, columns) if text or columns else (as_texts(texts), None)
    values = plain_labels(labels)
    if len(listed) != len(values):
        raise unequal(len(listed), len(values))
    multilabel = any(isinstance(value, list) for value in values)
    if multilabel and not all(isinstance(value, list) for value in values):
        raise InputError("some texts have a list of labels and some a single label; give each text a list")
    by_name = _names(values, multilabel=multilabel)
    empty = [number for number, text in enumerate(listed, 1) if not text.strip()]
    frame = pl.DataFrame(
        {
            "row": range(1, len(listed) + 1),
            "text": listed,
            "label": [[label_name(each) for each in value] if multilabel else label_name(value) for value in values],
        },
        schema={"row": pl.UInt32, "text": pl.String, "label": pl.List(pl.String) if multilabel else pl.String},
    )
    if weights is not None:
        frame = frame.with_columns(weight=pl.Series(as_weights(weights, len(listed)))).filter(pl.col("weight") > 0)
    frame = frame.filter(pl.col("text").str.strip_chars() != "")
    _check_classes(frame["label"], multilabel=multilabel)
    table = Table(
        frame=frame,
        source="rows in memory",
        text_column="text",
        label_column="label",
        multilabel=multilabel,
        dropped=(Dropped(reason="empty text", rows=empty),) if empty else (),
        inputs=inputs,
    )
    return table, by_name


def _composed(given: Any, text: str | Sequence[str] | None, columns: Sequence[str] | None) -> tuple[list[str], Inputs]:
    """Learn how the inputs of rows are read, and return the rows as strings.

    Raises:
        InputError: no text is named, rows lack an input, or an input cannot be learned from.
    """
    texts, beside = tuple([text] if isinstance(text, str) else text or ()), tuple(columns or ())
    if not texts:
        raise InputError("`columns=` needs a text too; name it, as in `text='review'`")
    rows, asked = _rows(given), Asked(texts=texts[1:], columns=beside)
    names = (texts[0], *asked.names)
    for number, row in enumerate(rows):
        if missing := [name for name in names if not isinstance(row, Mapping) or name not in row]:
            raise InputError(f"rows[{number}] has no {missing[0]!r}; give dictionaries or a frame with {_shown(names)}")
    cells = {name: [plain_value(row[name]) for row in rows] for name in asked.columns}
    frame = pl.DataFrame({kept_name(name): pl.Series(values, dtype=pl.String) for name, values in cells.items()})
    table = Table(frame=frame, source="rows in memory", text_column=texts[0], label_column=None)
    try:
        asked.check(texts[0], None, None)
        inputs = learn_inputs(table, asked)
    except UsageError as error:
        raise InputError(error.message) from error
    return [inputs.compose(row) for row in rows], inputs


def unequal(texts: int, labels: int) -> InputError:
    """Return the error for texts and labels of different numbers."""
    return InputError(f"{counted(texts, 'text')} but {counted(labels, 'label')}; give each text its label")


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the program that called us, be it through scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _listed(values: Any, what: str) -> list[Any]:
    """Return the values of an ordered iterable, or of the only column of a frame or array."""
    if isinstance(values, str | bytes):
        raise InputError(f"give a list of {what}, not one string")
    if isinstance(values, Mapping | set | frozenset):
        raise InputError(f"give a list of {what}, not a {type(values).__name__}")
    shape = tuple(getattr(values, "shape", ()))
    if len(shape) > 1:
        columns = getattr(values, "columns", None)
        if shape[1:] != (1,):
            names = "" if columns is None else f", with the columns {_shown(list(map(str, columns)))}"
            lists = ", or a list of labels for each text" if what == "labels" else ""
            raise InputError(f"the {what} are a matrix of shape {shape}{names}; give the column of {what}{lists}")
        values = np.asarray(values)[:, 0] if columns is None else values[columns[0]]
    try:
        return list(values if hasattr(values, "__iter__") or not hasattr(values, "__array__") else np.asarray(values))
    except TypeError as error:
        raise InputError(f"give a list of {what}, not {_shown(values)}") from error


def _way_out(text: Any, texts: Iterable[Any]) -> str:
    """Return a hint for a missing text: None, NaN or `pandas.NA`."""
    nan = isinstance(text, (float, np.floating)) and text != text
    missing = text is None or nan or type(text).__name__ in ("NAType", "NaTType")
    way = (
        "polars by texts.fill_null('')" if isinstance(texts, pl.Series | pl.DataFrame) else "pandas by texts.fillna('')"
    )
    return f" Fill missing texts, in {way}, or leave out these rows." if missing else ""


def _names(values: list[Any], *, multilabel: bool) -> dict[str, Any]:
    """Return the label value behind each label name."""
    labels = []
    for number, value in enumerate(values):
        for label in value if multilabel else [value]:
            if not isinstance(label, (str, int, float)) or label in (math.inf, -math.inf) or label != label:
                raise InputError(
                    f"labels[{number}] is {_shown(value)}; use text, finite numbers or truth values as labels"
                )
            labels.append(label)
    if len(types := sorted({type(label).__name__ for label in labels})) > 1:
        raise InputError(f"the labels are of several types ({', '.join(types)}); use one")
    return {label_name(label): label for label in labels}


def _check_classes(labels: pl.Series, *, multilabel: bool) -> None:
    """Raise an error that says what is wrong with labels that no classifier can learn from."""
    counts = (labels.explode(empty_as_null=True) if multilabel else labels).drop_nulls().value_counts(sort=True)
    if counts.is_empty():
        raise InputError("no text has a label; give at least two classes")
    if len(counts) == 1 and not multilabel:
        raise InputError(f"every text has the label {counts[0, 0]!r}; a classifier needs at least two classes")
    if single := sorted(counts.filter(pl.col("count") == 1)[:, 0].to_list()):
        classes = "1 class has" if len(single) == 1 else f"{len(single):,} classes have"
        raise InputError(
            f"{classes} a single row: {_shown(single)[1:-1]}; add texts of it, join it with another, or leave it out"
        )


def _plain(label: Any) -> Any:
    """Convert NumPy scalars and arrays to plain Python values."""
    if isinstance(label, (list, tuple, set, frozenset, np.ndarray)):
        return [_plain(each) for each in label]
    return label.item() if isinstance(label, np.generic) else label


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
