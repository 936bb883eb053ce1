"""The rows of a search: those that it never sees, and the parts that its trials learn from and are rated on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig, make_splits
from glassformer.data.table import Table, text_keys
from glassformer.data.wording import counted
from glassformer.errors import UsageError
from glassformer.experiments.judging import Judge
from glassformer.models.model_config import SEEDS
from glassformer.readers.folds import Rows, folds_of

HELD_OUT = 0.2
"""The share of the rows that the search never sees."""
FEW_ROWS = 500
"""Of a table with fewer rows, a fifth would be too few to measure on. The search is then repeated without each of four
parts, and what it chose without a part is measured on that part."""
FEWEST_ROWS = 60
FEWEST_UNITS = 5
"""Groups, or distinct texts: one to hold out, and four parts of the others."""
FOLDS, PARTS = 4, 3
"""Trials learn from three of four parts of the rows, and are rated on the fourth: in three ways at most."""


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


def usable_rows(sources: Sources, judge: Judge, *, seed: int) -> Table:
    """Return the training rows whose text is neither a validation nor a test text.

    Raises:
        UsageError: there are too few.
    """
    whole = ValidationConfig(fraction=0)
    table = make_splits(sources.train, whole, seed=seed, validation=sources.validation, test=sources.test).train
    judge.check_learned(table, table)
    if table.frame.height < FEWEST_ROWS:
        raise UsageError(
            f"{table.source}: {counted(table.frame.height, 'row')} to learn from, and a search needs at least "
            f"{FEWEST_ROWS}. With fewer, chance decides which settings seem best; train with the defaults"
        )
    return table


def outer_cuts(table: Table, validation: ValidationConfig, judge: Judge, *, seed: int) -> list[Cut]:
    """Hold rows out of the search: a fifth, or of few rows each of four parts in turn, and then none.

    With `validation.time`, the latest fifth is held out, also of few rows.

    No group and no text is on both sides. Rows of a class that would have too few rows to learn from are not held out.

    Raises:
        UsageError: the rows cannot be cut.
    """
    _check_units(table, FEWEST_UNITS)
    if table.frame.height < FEW_ROWS and validation.time is None:
        folds = [_cut(table, judge, held_out) for held_out in _folds(table, judge, seed)]
        return [*folds, Cut(searched=table, unseen=None)]
    units = units_of(table)
    _, firsts = np.unique(units, return_index=True)
    each_once = table if validation.group is not None else replace(table, frame=table.frame[np.sort(firsts)])
    config = ValidationConfig(fraction=HELD_OUT, group=validation.group, time=validation.time, min_rows=0)
    held_out = make_splits(each_once, config, seed=seed).validation
    assert held_out is not None
    hidden = np.isin(units, units[table.frame["row"].is_in(held_out.frame["row"].implode()).to_numpy()])
    return [_cut(table, judge, np.flatnonzero(hidden))]


def inner_parts(table: Table, validation: Table | None, judge: Judge, *, seed: int) -> list[Part]:
    """Return the parts in the order in which trials use them. All are rated on the validation rows, if there are any.

    Raises:
        UsageError: the rows cannot be cut.
    """
    if validation is not None:
        return [Part(learned=table, judged=validation, seed=(seed + number) % SEEDS) for number in range(PARTS)]
    _check_units(table, PARTS)
    cuts = [_cut(table, judge, held_out) for held_out in _folds(table, judge, seed)[:PARTS]]
    return [
        Part(learned=cut.searched, judged=cut.unseen, seed=(seed + number) % SEEDS)
        for number, cut in enumerate(cuts)
        if cut.unseen is not None
    ]


def all_rows(unseen: Sequence[Table]) -> Table:
    """Return the held-out rows of all cuts."""
    return replace(unseen[0], frame=pl.concat([table.frame for table in unseen]))


def units_of(table: Table) -> Rows:
    """Return a number for each row: that of its group, or else of its text. Rows of a unit stay together."""
    frame = table.frame
    of = frame["group"] if "group" in frame.columns else text_keys(frame["text"])
    return of.rank("dense").cast(pl.Int64).to_numpy() - 1


def _check_units(table: Table, fewest: int) -> None:
    if (count := len(np.unique(units_of(table)))) < fewest:
        what = ("group", "groups") if "group" in table.frame.columns else ("distinct text", "distinct texts")
        raise UsageError(
            f"{table.source}: {counted(count, *what)}, and a search needs at least {FEWEST_UNITS}, because none may be "
            "on both sides. Train with the defaults"
        )


def _folds(table: Table, judge: Judge, seed: int) -> list[Rows]:
    """Return the row numbers of each fold. No unit is in two folds. Of texts, each class keeps its proportion."""
    units, strata = units_of(table), judge.strata(table)
    if "group" in table.frame.columns:
        return [fold.held_out for fold in folds_of(strata, seed=seed, groups=units)]
    _, firsts, of_row = np.unique(units, return_index=True, return_inverse=True)
    return [fold.of_copies(firsts[of_row], firsts).held_out for fold in folds_of(strata[firsts], seed=seed)]


def _cut(table: Table, judge: Judge, held_out: Rows) -> Cut:
    """Hold these rows out, except whole units that are needed so that each class has rows to learn from.

    A text may occur in several groups. Then the search does not see its other rows either, as in `train`.
    """
    units, texts = units_of(table), text_keys(table.frame["text"])
    away = np.zeros(table.frame.height, np.bool_)
    away[held_out] = True
    while True:
        learned = ~(away | _of_same_text(texts, away))
        rare = judge.needed(table, learned)
        needed = away & (rare | _of_same_text(texts, rare))
        if not needed.any():
            break
        away &= ~np.isin(units, units[needed])
    if not away.any():
        raise UsageError(
            f"{table.source}: the classes have too few rows, or the groups are too few, to hold any rows out; a search "
            "would have nothing to rate its trials on. Add rows, or merge rare classes"
        )
    searched, unseen = (replace(table, frame=table.frame.filter(each), dropped=()) for each in (learned, away))
    return Cut(searched=searched, unseen=unseen)


def _of_same_text(texts: pl.Series, rows: np.ndarray) -> np.ndarray:
    """Return which rows have the text of one of these rows, both as masks."""
    return texts.is_in(texts.filter(rows).unique().implode()).to_numpy()
