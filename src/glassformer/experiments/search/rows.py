"""The rows of a search: those that it never sees, and the parts that its trials learn from and are rated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from glassformer.counting.folds import Rows, folds_of
from glassformer.data.labels import LabelSet
from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig, make_splits
from glassformer.data.table import Table, text_keys
from glassformer.data.wording import counted
from glassformer.errors import UsageError

HELD_OUT = 0.2
"""The share of the rows that the search never sees."""
FEW_ROWS = 500
"""Of a table with fewer rows, a fifth would be too few to measure on. The search is then repeated without each of four
parts, and what it chose without a part is measured on that part."""
FEWEST_ROWS = 60
FOLDS, PARTS = 4, 3
"""Trials learn from three of four parts of the rows, and are rated on the fourth: in three ways at most."""
_FEWEST_OF_CLASS = 2  # rows to learn from: see `LabelSet`


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The rows of a search, and the rows that it never sees. None: it sees all rows."""

    searched: Table
    unseen: Table | None


@dataclass(frozen=True, kw_only=True)
class Part:
    """The rows that a trial learns from, those that it is rated on, and the seed of its training."""

    learned: Table
    judged: Table
    seed: int


def usable_rows(sources: Sources, *, seed: int) -> Table:
    """Return the training rows whose text is neither a validation nor a test text.

    Raises:
        UsageError: there are too few.
    """
    whole = ValidationConfig(fraction=0)
    table = make_splits(sources.train, whole, seed=seed, validation=sources.validation, test=sources.test).train
    LabelSet.from_table(table)
    if table.frame.height < FEWEST_ROWS:
        raise UsageError(
            f"{table.source}: {counted(table.frame.height, 'row')} to learn from, and a search needs at least "
            f"{FEWEST_ROWS}. With fewer, chance decides which settings seem best; train with the defaults"
        )
    return table


def outer_cuts(table: Table, group: str | None, *, seed: int) -> list[Cut]:
    """Hold rows out of the search: a fifth, or of few rows each of four parts in turn, and then none.

    No group is in both parts. Rows of a class that would have too few rows to learn from are not held out.

    Raises:
        UsageError: the rows cannot be cut.
    """
    if table.frame.height < FEW_ROWS:
        return [*(_cut(table, held_out) for held_out in _folds(table, seed)), Cut(searched=table, unseen=None)]
    config = ValidationConfig(fraction=HELD_OUT, group=group, min_rows=0)
    held_out = make_splits(table, config, seed=seed).validation
    assert held_out is not None
    keys = text_keys(table.frame["text"])
    hidden = keys.is_in(text_keys(held_out.frame["text"]).implode()) | table.frame["row"].is_in(
        held_out.frame["row"].implode()
    )
    return [_cut(table, np.flatnonzero(hidden.to_numpy()))]


def inner_parts(table: Table, validation: Table | None, *, seed: int) -> list[Part]:
    """Return the parts in the order in which trials use them. All are rated on the validation rows, if there are any.

    Raises:
        UsageError: the rows cannot be cut.
    """
    if validation is not None:
        return [Part(learned=table, judged=validation, seed=seed + number) for number in range(PARTS)]
    cuts = [_cut(table, held_out) for held_out in _folds(table, seed)[:PARTS]]
    return [
        Part(learned=cut.searched, judged=cut.unseen, seed=seed + number)
        for number, cut in enumerate(cuts)
        if cut.unseen is not None
    ]


def never_held_out(table: Table, unseen: Sequence[Table]) -> list[str]:
    """Return the labels that no held-out row has."""
    seen = {label for part in unseen for label in _labels(part).drop_nulls().unique().to_list()}
    return [name for name in LabelSet.from_table(table).names if name not in seen]


def _folds(table: Table, seed: int) -> list[Rows]:
    """Return the row numbers of each fold. Each class has its proportion, and no group or text is in two folds."""
    frame = table.frame
    groups = frame["group"].rank("dense").to_numpy() if "group" in frame.columns else None
    texts = text_keys(frame["text"]).rank("dense").to_numpy()
    labels = LabelSet.from_table(table).encode(table)
    return [fold.held_out for fold in folds_of(labels, seed=seed, groups=groups, texts=texts)]


def _cut(table: Table, held_out: Rows) -> Cut:
    """Hold these rows out, except those whose class, or whose group, is needed to learn from.

    Raises:
        UsageError: no row is left to hold out.
    """
    frame = table.frame.with_row_index("place")
    away = np.zeros(frame.height, np.bool_)
    away[held_out] = True
    unit = "group" if "group" in frame.columns else "place"
    for _ in range(frame.height):
        rare = _too_rare(table, away)
        if not rare:
            break
        needed = frame.filter(_has_label(table, rare) & pl.Series(away))[unit].unique()
        away &= ~frame[unit].is_in(needed.implode()).to_numpy()
    if not away.any():
        raise UsageError(
            f"{table.source}: the classes have too few rows, or the groups are too few, to hold any rows out; a search "
            "would have nothing to rate its trials on. Add rows, or merge rare classes"
        )
    mask = pl.Series(away)
    searched, unseen = (replace(table, frame=table.frame.filter(each), dropped=()) for each in (~mask, mask))
    return Cut(searched=searched, unseen=unseen)


def _too_rare(table: Table, away: np.ndarray) -> list[str]:
    """Return the labels of held-out rows that have too few rows to learn from."""
    learned, hidden = (_labels(replace(table, frame=table.frame.filter(pl.Series(each)))) for each in (~away, away))
    counts = dict(learned.value_counts().iter_rows())
    return [label for label in hidden.drop_nulls().unique().to_list() if counts.get(label, 0) < _FEWEST_OF_CLASS]


def _labels(table: Table) -> pl.Series:
    labels = table.frame["label"]
    return labels.explode() if table.multilabel else labels


def _has_label(table: Table, labels: list[str]) -> pl.Series:
    own = table.frame["label"]
    if table.multilabel:
        return own.list.eval(pl.element().is_in(labels)).list.any()
    return own.is_in(labels)
