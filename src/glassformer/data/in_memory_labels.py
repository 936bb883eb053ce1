"""Labels from a Python program: one for each text, lists of labels, or a matrix of 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from sklearn.exceptions import DataConversionWarning

from glassformer.data.arrays import Array, DoubleArray
from glassformer.data.column_kinds import kind_of
from glassformer.data.encodings import half_of_pair
from glassformer.data.in_memory_rows import is_missing, listed, plain, warn_caller
from glassformer.data.labels import check_order
from glassformer.data.numbers import MOST
from glassformer.data.spellings import joined_spellings
from glassformer.data.wording import counted, label_name
from glassformer.errors import InputError, brief_value


@dataclass(frozen=True, kw_only=True)
class GivenLabels:
    """The label of each text, or with several labels per text a list of them.

    Attributes:
        columns: the labels that the columns of a matrix of 0 and 1 stand for. None if the labels were no such matrix.
    """

    values: list[Any]
    columns: tuple[Any, ...] | None = None

    def check_columns(self, by_name: Mapping[str, Any]) -> None:
        """Raise `InputError` if no text has the label of a column."""
        if absent := [column for column in self.columns or () if label_name(column) not in by_name]:
            raise InputError(f"no text has the label {absent[0]!r}: its column holds 0 only; leave the column out")


def given_labels(labels: Any, columns: Sequence[Any] | None = None) -> GivenLabels:
    """Read the labels of texts: one for each, lists, or as in scikit-learn a matrix with a 0 or 1 for each label.

    Args:
        columns: the labels that the columns of a matrix stand for. None: the names of a frame's columns, or 0, 1, …

    Raises:
        InputError: a matrix has other columns; or see `plain_labels`.
    """
    matrix = _binary_matrix(labels)
    if matrix is None:
        return GivenLabels(values=plain_labels(labels))
    own = getattr(labels, "columns", None)
    names = tuple(range(matrix.shape[1]) if own is None else map(plain, own))
    if columns is not None:
        if len(names) != len(columns) or (own is not None and set(names) != set(columns)):
            raise InputError(
                f"the labels have the {counted(len(names), 'column')} {brief_value(list(names))}; the model learned "
                f"{brief_value(list(columns))}"
            )
        names = tuple(columns) if own is None else names
    return GivenLabels(values=[[names[at] for at in np.flatnonzero(row)] for row in matrix], columns=names)


def _binary_matrix(labels: Any) -> Array | None:
    """Return a matrix (texts, labels) of truth values, or None if the labels are not a matrix of 0 and 1."""
    if hasattr(labels, "toarray"):  # a sparse matrix of SciPy
        labels = labels.toarray()
    if isinstance(labels, list | tuple):
        # As lists of labels, such rows would hold the same labels again and again.
        if not labels or not all(isinstance(row, list | tuple) and len(row) > 1 for row in labels):
            return None
        if len({len(row) for row in labels}) > 1 or not all(isinstance(each, int) for row in labels for each in row):
            return None
    elif len(getattr(labels, "shape", ())) != 2 or labels.shape[1] < 2:
        return None
    try:
        matrix = np.asarray(labels).astype(np.float64)
    except (TypeError, ValueError):
        return None
    return matrix != 0 if np.isin(matrix, (0, 1)).all() else None


def ordered_names(order: Any, by_name: Mapping[str, Any], values: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of ordered classes, the lowest first.

    Raises:
        InputError: `order` is not a list, does not name each label once, or texts have lists of labels.
    """
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise InputError(f"`order={brief_value(order)}`: give a list of all labels, the lowest first")
    if any(isinstance(value, list) for value in values):
        raise InputError("several labels per text have no order; leave out `order=`")
    names = tuple(label_name(plain(label)) for label in order)
    first = dict.fromkeys(by_name, "learned before")
    first |= {label_name(value): f"texts[{at}]" for at, value in reversed([*enumerate(values)]) if value is not None}
    check_order(names, first, "text", "", InputError)
    return names


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


def plain_labels(labels: Iterable[Any]) -> list[Any]:
    """Return the labels as a list of plain Python values. A shape of (n, 1) is accepted with scikit-learn's warning.

    Raises:
        InputError: there are several columns.
    """
    if labels is None:
        raise InputError("fit requires y to be passed, but the target y is None; give the label of each text")
    taken = [None if is_missing(label) else plain(label) for label in listed(labels, "labels")]
    if len(getattr(labels, "shape", ())) > 1:
        warn_caller(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
            "for example using ravel().",  # scikit-learn's own words
            DataConversionWarning,
        )
    return taken


def as_numbers(numbers: Any) -> list[float | None]:
    """Return the number of each text, or None if it is missing. Raises `InputError` for one that is not finite."""
    if numbers is None:
        raise InputError("fit requires y to be passed, but the target y is None; give the number of each text")
    values = plain_labels(numbers)
    for number, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, int | float):
            raise InputError(f"y[{number}] is {brief_value(value)} ({type(value).__name__}), not a number")
        if not abs(value) < MOST:
            raise InputError(
                f"y[{number}] is {brief_value(value)}; numbers must be finite and of a size below "
                f"{MOST:g}. Leave out these rows"
            )
    return [None if value is None else float(value) for value in values]


def check_separator(levels: Any) -> None:
    """Raise `InputError` if what stands between the levels of a label is not a string, or an empty one."""
    if levels is not None and (not isinstance(levels, str) or not levels):
        raise InputError(f"`levels={brief_value(levels)}`: name what stands between two levels, such as levels=' > '")


def folded(labels: list[Any], names: Sequence[str] | None = None, levels: str | None = None) -> list[Any]:
    """Replace other spellings of labels (see `joined_spellings`). Labels that are not strings stay as they are."""
    flat = [label for value in labels for label in (value if isinstance(value, list) else [value])]
    replaced = joined_spellings([label for label in flat if isinstance(label, str)], names, levels)

    def folded(label: Any) -> Any:
        return replaced.get(label, label) if isinstance(label, str) else label

    return [list(dict.fromkeys(map(folded, value))) if isinstance(value, list) else folded(value) for value in labels]


def as_weights(weights: Any, count: int) -> DoubleArray:
    """Return one weight per row.

    Raises:
        InputError: there are more or fewer weights than rows, a weight is negative, infinite or NaN, or their sum is 0
            or too large.
    """
    try:
        array = np.full(count, weights, dtype=np.float64) if np.isscalar(weights) else np.asarray(weights, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("sample_weight holds something that is not a number") from error
    if array.shape != (count,):
        raise InputError(f"sample_weight has the shape {array.shape}; give one number for each text, {count:,} in all")
    for odd in np.flatnonzero(~(np.isfinite(array) & (array >= 0)))[:1]:
        raise InputError(f"sample_weight[{odd}] is {array[odd]}; weights must be finite and not negative")
    if array.sum() > np.finfo(np.float32).max:
        raise InputError(f"sample_weight adds up to {array.sum():.3g}, too much for float32; give smaller weights")
    if array.sum() < np.finfo(np.float32).tiny:
        raise InputError("every sample_weight is zero, or nearly; give some texts a larger weight")
    return np.where(array < np.finfo(np.float32).tiny, 0.0, array)  # such rows are learned as little as those of 0


def names_of(values: list[Any], *, multilabel: bool) -> dict[str, Any]:
    """Return the label value behind each label name. A missing label is None."""
    labels = []
    for number, value in enumerate(values):
        for label in value if multilabel else [] if value is None else [value]:
            if not isinstance(label, (str, int, float)) or not (isinstance(label, str) or abs(label) < MOST):
                raise InputError(
                    f"labels[{number}] is {brief_value(value)}; use text, finite numbers or truth values as labels"
                )
            if isinstance(label, str) and half_of_pair(label) is not None:
                raise InputError(
                    f"labels[{number}] is {brief_value(value)}, which holds half of a surrogate pair; that is no text"
                )
            labels.append(label)
    if len(types := sorted({type(label).__name__ for label in labels})) > 1:
        raise InputError(f"the labels are of several types ({', '.join(types)}); use one")
    return {label_name(label): label for label in labels}


def check_classes(labels: pl.Series, *, multilabel: bool) -> None:
    """Raise an error that says what is wrong with labels that no classifier can learn from."""
    counts = (labels.explode(empty_as_null=True) if multilabel else labels).drop_nulls().value_counts(sort=True)
    if counts.is_empty():
        raise InputError("no text has a label; give at least two classes")
    if len(counts) == 1 and not multilabel:
        raise InputError(f"there is 1 class, {counts[0, 0]!r}; a classifier needs at least two classes")
    if single := sorted(counts.filter(pl.col("count") == 1)[:, 0].to_list()):
        classes = "1 class has" if len(single) == 1 else f"{len(single):,} classes have"
        advice = "add texts of it, join it with another, or leave it out"
        if kind_of(counts["label"]) == "decimal numbers":
            advice = "if the labels are a continuous number, learn them with `TextRegressor`"
        raise InputError(f"{classes} a single row: {brief_value(single)[1:-1]}; {advice}")
