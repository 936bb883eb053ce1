"""How later rows differ from earlier ones, as a table: labels or numbers, length, words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from scipy.special import ndtri

from glassformer.data.arrays import Array
from glassformer.data.inputs import SEPARATOR
from glassformer.data.table import Table, text_keys
from glassformer.errors import quoted
from glassformer.evaluation.drift import FEWEST, UNSEEN, DriftTable, LabelFigures, Moved, compared
from glassformer.targets.number.held_out import Mean
from glassformer.targets.probabilities import one_hot
from glassformer.targets.target import Followed

_MOST_ROWS = 20_000  # of each side
_CHANCE = 1 / 1_000  # that any word is said to have moved if none has
_FEWEST_WITH_WORD, _MOST_WORDS = 20, 20
_WORD = r"\p{L}[\p{L}\p{M}\p{N}'’_-]*"


@dataclass(frozen=True, kw_only=True)
class Side:
    """Some rows that are compared."""

    texts: pl.Series
    labels: LabelFigures


def some_rows(table: Table) -> Table:
    """Return a table with so many of its rows as are compared, evenly spread."""
    return replace(table, frame=table.frame.gather_every(max(1, -(-table.frame.height // _MOST_ROWS))))


def label_figures(names: Sequence[str], encoded: Array) -> LabelFigures:
    """Return for each label whether rows have it."""
    has = one_hot(encoded, len(names)).astype(np.bool_)
    return LabelFigures("label", {f"label {quoted(name)}": each for name, each in zip(names, has.T, strict=True)})


def drift_table(earlier: Side, later: Side, unseen: Followed | None, rows: int, names: tuple[str, str]) -> DriftTable:
    """Compare two sides: labels or numbers, words per text, unseen words, and the words themselves.

    Args:
        unseen: the unseen shares of the later texts, beside the mean of `rows` rows of before.
    """
    figures = [
        _moved(earlier.labels.kind, name, later.labels.of[name], values) for name, values in earlier.labels.of.items()
    ]
    figures.append(_moved("length", "words per text", _lengths(later.texts), _lengths(earlier.texts)))
    if unseen is not None and unseen.usual is not None:
        found = compared(unseen, rows)
        figures.append(
            Moved(
                kind="unseen",
                name=UNSEEN,
                earlier=unseen.usual.mean,
                later=found.recent,
                moved=found.moved,
            )
        )
    enough = len(later.texts) >= FEWEST
    words, looked_at = _words(earlier.texts, later.texts) if enough else ([], 0)
    return DriftTable(
        names=names,
        earlier=len(earlier.texts),
        later=len(later.texts),
        figures=tuple(figures),
        words=tuple(words[:_MOST_WORDS]),
        words_compared=looked_at,
        words_moved=len(words),
    )


def _moved(kind: Literal["label", "number", "length"], name: str, later: Array, earlier: Array) -> Moved:
    found = compared(Followed(name, later.tolist(), Mean.of(earlier)), len(earlier))
    return Moved(kind=kind, name=name, earlier=found.held_out or 0, later=found.recent, moved=found.moved)


def _lengths(texts: pl.Series) -> Array:
    return text_keys(texts).str.count_matches(rf"[^\s{SEPARATOR}]+").cast(pl.Float64).to_numpy()


def _words(earlier: pl.Series, later: pl.Series) -> tuple[list[Moved], int]:
    """Return the words whose share of the texts moved, the surest first, and how many words were compared.

    So many words are compared that some always move by chance; the level is divided by their number (Bonferroni).
    """
    both = _texts_with(earlier, "earlier").join(_texts_with(later, "later"), on="word", how="full", coalesce=True)
    both = both.fill_null(0).filter(pl.col("earlier") + pl.col("later") >= _FEWEST_WITH_WORD).sort("word")
    if both.is_empty():
        return [], 0
    counts, rows = both.select("earlier", "later").to_numpy().astype(np.float64), np.array([len(earlier), len(later)])
    shares, together = counts / rows, counts.sum(axis=1) / rows.sum()
    error = np.sqrt(np.maximum(together * (1 - together) * (1 / rows).sum(), 1e-12))
    deviations = np.abs(shares[:, 1] - shares[:, 0]) / error
    sure = -ndtri(_CHANCE / 2 / both.height)
    order = [at for at in np.argsort(-deviations, kind="stable").tolist() if deviations[at] > sure]
    return [
        Moved(kind="word", name=both["word"][at], earlier=shares[at, 0], later=shares[at, 1], moved=True)
        for at in order
    ], both.height


def _texts_with(texts: pl.Series, name: str) -> pl.DataFrame:
    """Return how many texts have each word: the columns word, and `name`."""
    words = text_keys(texts).str.to_lowercase().str.extract_all(_WORD).list.unique()
    return words.explode().drop_nulls().rename("word").value_counts(name=name)
