"""Slices of the measured rows, by length, by other columns and by keyword: where is the model worse than elsewhere?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
import polars as pl
from jaxtyping import Bool, Float
from scipy.stats import false_discovery_control, hypergeom

from glassformer.data.inputs import shown_apart
from glassformer.data.table import FEW_VALUES
from glassformer.data.tokenizer_file import LETTERS_PATTERN
from glassformer.evaluation.intervals import wilson
from glassformer.evaluation.verdict import SIGNIFICANCE
from glassformer.evaluation.weak_spots import Slice, Slices

FEWEST_ROWS = 20  # of a slice, and of the rest
LARGEST_KEYWORD = 0.5  # share of the rows; a more frequent word says little about a row
LISTED = 100
NO_VALUE, NO_NUMBER = "no value", "no number"
_ROWS_AT_ONCE = 20_000
_NUMBERS = 0.5  # share of the values; a column with fewer numbers holds something else

Kind = Literal["length", "column", "keyword"]
Part = tuple[str, Bool[np.ndarray, " n"]]
"""The name of a part of the rows, and which rows are in it."""


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """A slice that is not compared yet: its rows, and how many of them are right."""

    kind: Kind
    column: str | None
    value: str
    rows: int
    right: int


def find_slices(
    texts: Sequence[str],
    right: Bool[np.ndarray, " n"],
    columns: pl.DataFrame | None = None,
    *,
    worth: float = 1.0,
    worth_of_groups: float = 1.0,
) -> Slices:
    """Compare the rows of each slice with all other rows.

    A slice is a quarter of the rows by length or by a column of many numbers, the rows with one value of another
    column, or those that contain a word. The slice and the rest have at least `FEWEST_ROWS` rows each. Intervals
    count `worth` of the rows (see `Draws`). p compares rows that the same models answered, so it counts all, or
    `worth_of_groups` of them.
    """
    lengths, keywords = _words_in(pl.DataFrame({"text": texts, "right": right}))
    found = [_counted("length", None, value, right[which]) for value, which in quarters(lengths)]
    for column in [] if columns is None else columns.iter_columns():
        found += [_counted("column", column.name, value, right[which]) for value, which in _parts(column)]
    found += keywords
    large = [each for each in found if FEWEST_ROWS <= each.rows <= len(right) - FEWEST_ROWS]
    return _compared(large, right, worth, worth_of_groups)


def _counted(kind: Kind, column: str | None, value: str, right: Bool[np.ndarray, " rows"]) -> _Counted:
    return _Counted(kind=kind, column=column, value=value, rows=len(right), right=int(right.sum()))


def _compared(found: Sequence[_Counted], right: Bool[np.ndarray, " n"], worth: float, worth_of_groups: float) -> Slices:
    """Test each slice against the rest (Fisher 1935), and correct for their number (Benjamini & Hochberg 1995)."""
    if not found:
        return Slices(looked_at=0, significantly_worse=0, columns=(), listed=())
    n, all_right = len(right), int(right.sum())
    inside = np.array([(each.right, each.rows - each.right) for each in found])
    outside = np.array([all_right, n - all_right]) - inside
    (hits, misses), (others, missed) = (np.round(worth_of_groups * part).astype(int).T for part in (inside, outside))
    p = hypergeom.cdf(hits, hits + misses + others + missed, hits + others, hits + misses).clip(0, 1)
    p = np.nan_to_num(p, nan=1.0)  # of few groups, no row may be left
    corrected = false_discovery_control(p, method="bh")
    listed = [(found[i], float(p[i]), float(corrected[i])) for i in np.argsort(p, kind="stable")[:LISTED]]
    return Slices(
        looked_at=len(found),
        significantly_worse=int((corrected < SIGNIFICANCE).sum()),
        columns=tuple(dict.fromkeys(each.column for each in found if each.column is not None)),
        listed=tuple(
            Slice(
                kind=each.kind,
                column=each.column,
                value=each.value,
                rows=each.rows,
                accuracy=wilson(each.right, each.rows, worth=worth),
                accuracy_of_rest=(all_right - each.right) / (n - each.rows),
                p=p_of_slice,
                corrected_p=corrected_p,
            )
            for each, p_of_slice, corrected_p in listed
        ),
    )


def _words_in(rows: pl.DataFrame) -> tuple[Float[np.ndarray, " n"], list[_Counted]]:
    """Return how many words each text has, and the rows of each word.

    Some thousand rows are read at a time: the words of all rows may take gigabytes.
    """
    lengths, counts = [], []
    for part in rows.iter_slices(_ROWS_AT_ONCE):
        words = part["text"].str.normalize("NFKC").str.to_lowercase().str.extract_all(LETTERS_PATTERN)
        lengths.append(words.list.len())
        once = pl.DataFrame({"word": words.list.unique(), "right": part["right"]}).explode("word", empty_as_null=False)
        counts.append(once.group_by("word").agg(rows=pl.len(), right=pl.col("right").sum()))
    of_word = pl.concat(counts).group_by("word").sum()
    kept = of_word.filter(pl.col("rows").is_between(FEWEST_ROWS, LARGEST_KEYWORD * rows.height))
    keywords = [
        _Counted(kind="keyword", column=None, value=name, rows=its_rows, right=hits)
        for name, its_rows, hits in kept.sort("word").iter_rows()
    ]
    return pl.concat(lengths).cast(pl.Float64).to_numpy(), keywords


def _parts(column: pl.Series) -> Iterator[Part]:
    """Yield the rows of each value; if there are many, quarters of the numbers; nothing if these are not numbers."""
    values = column.drop_nulls().unique().sort()
    if len(values) <= FEW_VALUES:
        for value in values:
            yield value, (column == value).fill_null(False).to_numpy()
        yield NO_VALUE, column.is_null().to_numpy()
        return
    numbers = column.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    if np.isfinite(numbers).mean() >= _NUMBERS:
        yield from quarters(numbers)
        yield NO_NUMBER, ~np.isfinite(numbers)


def quarters(numbers: Float[np.ndarray, " n"]) -> Iterator[Part]:
    """Yield a quarter of the rows after another, lowest numbers first, by its range. Equal numbers stay together."""
    finite = np.isfinite(numbers)
    cuts = np.unique(np.quantile(numbers[finite], (0.25, 0.5, 0.75), method="inverted_cdf"))
    quarter = np.searchsorted(cuts, numbers)
    parts = [which for number in range(len(cuts) + 1) if (which := finite & (quarter == number)).any()]
    ends = [(float(numbers[which].min()), float(numbers[which].max())) for which in parts]
    different = sorted(set(chain.from_iterable(ends)))
    shown = dict(zip(different, shown_apart(different), strict=True))
    for (low, high), which in zip(ends, parts, strict=True):
        yield shown[low] if low == high else f"{shown[low]} to {shown[high]}", which
