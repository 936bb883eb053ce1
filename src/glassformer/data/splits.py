"""Hold out rows for validation, and drop training rows whose text is held out."""

import hashlib
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.data.group_folds import stratified_group_folds
from glassformer.data.labels import conflicting_rows
from glassformer.data.table import Dropped, Table, row_list, text_keys
from glassformer.data.wording import counted
from glassformer.errors import UsageError


class ValidationConfig(BaseModel):
    """Where the validation rows come from (recipe section `[validation]`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fraction: float | None = Field(default=0.1, ge=0, le=0.5)
    """Share of the training rows that is held out, from 0 to 0.5. Each class keeps its proportion. With 0 or None
    nothing is held out, and the last epoch is kept."""
    file: str | None = None
    """File of your own validation rows. They replace the share of the training rows."""
    group: str | None = None
    """Column with a group for each row, such as its author or film. No group is split between training and validation.
    Set it if texts of one group are alike, as the validation accuracy would be too high otherwise."""
    min_rows: int = Field(default=2_000, ge=0, le=10**9)
    """Fewest rows of a training table that is split, from 0 on. Of a smaller table nothing is held out, and both
    readers are cross-fitted instead. Without a counting reader the default is 200."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.group is not None and (self.file is not None or not self.fraction):
            raise ValueError(
                f"validation.group = {self.group!r} needs validation.fraction and no validation.file "
                f"(fraction is {self.fraction}, file is {self.file!r})"
            )
        return self


@dataclass(frozen=True, kw_only=True)
class Splits:
    """The rows to train on, the rows to validate on (None if nothing is held out), and notes on what was done.

    Rows that were left out are listed in `train.dropped` and `validation.dropped`.
    """

    train: Table
    validation: Table | None
    notes: tuple[str, ...]


def make_splits(
    table: Table,
    config: ValidationConfig,
    *,
    seed: int,
    validation: Table | None = None,
    test: Table | None = None,
) -> Splits:
    """Split a training table, and keep every held-out text out of training.

    `validation` is the table of `config.file`, already read. Without it, a share of `table` is held out. Texts are
    equal if their `text_keys` are equal. The choice of rows depends on the seed and the table alone. Raises
    `UsageError` if no row is left to train on, or if there are too few groups to split.
    """
    notes = list(_conflicts(table))
    train = table
    if test is not None:
        train = without(train, test, "duplicate of a test text")
    if validation is not None:
        if test is not None:
            validation = without(validation, test, "duplicate of a test text")
        train = without(train, validation, "duplicate of a validation text")
        notes.append(f"validation: {counted(validation.frame.height, 'row')} of {validation.source}")
    elif not config.fraction:
        notes.append("validation: nothing is held out (validation.fraction is 0)")
    elif train.frame.height < config.min_rows:
        notes.append(
            f"validation: nothing is held out, {counted(train.frame.height, 'row is', 'rows are')} fewer than "
            f"validation.min_rows = {config.min_rows}"
        )
    else:
        held_out = _held_out(train, config.fraction, config.group, seed)
        validation = replace(train, frame=train.frame.filter(held_out), dropped=())
        train = replace(train, frame=train.frame.filter(~held_out))
        train = without(train, validation, "duplicate of a validation text")
        whole = (
            "" if config.group is None else f", {_groups(validation)} of {_groups(table)} groups of {config.group!r}"
        )
        notes.append(f"validation: {validation.frame.height:,} of {table.frame.height:,} rows held out{whole}")
    if validation is None and "group" in train.frame.columns:
        notes.append(f"{_groups(train)} groups of {config.group!r} stay whole")
    if "group" in table.frame.columns and table.frame["group"].n_unique() == table.frame.height:
        notes.append(f"each row has its own value of {config.group!r}, so the groups change nothing")
    for kept in (train, validation):
        if kept is not None and kept.frame.is_empty():
            raise UsageError(
                f"{kept.source}: no row is left, every text also occurs in the held-out data. "
                f"Either the same file is named twice, or the table holds few distinct texts."
            )
    return Splits(train=train, validation=validation, notes=tuple(notes))


def fingerprint(table: Table) -> str:
    """Return the SHA-256 (hex) of texts and labels in their order. The file format does not change it."""
    digest = hashlib.sha256()
    for text, label in zip(table.frame["text"], _label_keys(table), strict=True):
        for part in (text.encode(), label.encode()):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _conflicts(table: Table) -> list[str]:
    conflicts = conflicting_rows(table)
    if not conflicts:
        return []
    examples = "; ".join(row_list(rows) for rows in conflicts[:3])
    return [
        f"{counted(len(conflicts), 'text occurs', 'texts occur')} with different labels "
        f"({examples}{'; …' if len(conflicts) > 3 else ''}); kept"
    ]


def _label_keys(table: Table) -> pl.Series:
    """Return the label of each row as one string. Several labels are sorted and joined."""
    if "label" not in table.frame.columns:
        return pl.repeat("", table.frame.height, dtype=pl.String, eager=True)
    labels = table.frame["label"]
    return labels.list.sort().list.join("\0") if table.multilabel else labels


def without(table: Table, held_out: Table, reason: str) -> Table:
    """Leave out rows whose text is in another table."""
    shared = text_keys(table.frame["text"]).is_in(text_keys(held_out.frame["text"]).unique().implode())
    if not shared.any():
        return table
    dropped = Dropped(reason=reason, rows=table.frame.filter(shared)["row"].to_list())
    return replace(table, frame=table.frame.filter(~shared), dropped=(*table.dropped, dropped))


def held_out_rows(table: Table, fraction: float, seed: int) -> pl.Series:
    """Return a mask that is True for a fraction of the rows, at least one. Each class keeps its proportion."""
    return _held_out(table, fraction, None, seed)


def _groups(table: Table) -> str:
    return f"{table.frame['group'].n_unique():,}"


def _held_out(table: Table, fraction: float, group: str | None, seed: int) -> pl.Series:
    """Return a mask that is True for the held-out rows."""
    n_rows = table.frame.height
    n_held_out = max(1, round(fraction * n_rows))
    strata = _strata(_label_keys(table), fewest=2)
    if group is not None:
        chosen = _whole_groups(table, group, fraction, seed)
    elif len(np.unique(strata)) <= min(n_held_out, n_rows - n_held_out):
        from sklearn.model_selection import StratifiedShuffleSplit  # half a second, which `predict` would wait for

        splitter = StratifiedShuffleSplit(n_splits=1, test_size=n_held_out, random_state=seed)
        chosen = next(splitter.split(strata, strata))[1]
    else:  # more classes than held-out rows: there is no proportion to keep
        chosen = np.random.default_rng(seed).permutation(n_rows)[:n_held_out]
    mask = np.zeros(n_rows, dtype=bool)
    mask[chosen] = True
    return pl.Series(mask)


def _strata(labels: pl.Series, *, fewest: int) -> np.ndarray:
    """Return class numbers to stratify by. Classes or combinations of labels with fewer rows are pooled into one."""
    numbers = _numbers(labels)
    counts = np.bincount(numbers)
    rare = counts[numbers] < fewest
    pool = counts.argmax() if rare.sum() < fewest else len(counts)  # a pool that is too small joins the largest class
    return np.where(rare, pool, numbers)


def _numbers(values: pl.Series) -> np.ndarray:
    """Number the distinct values in the order of code points. A number takes less memory than a string."""
    distinct = values.unique().sort()
    return values.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).to_numpy()


def _whole_groups(table: Table, column: str, fraction: float, seed: int) -> np.ndarray:
    """Return the rows of one of round(1 / fraction) folds: the fold whose size is nearest to the fraction."""
    groups = _numbers(table.frame["group"])
    n_folds = max(2, round(1 / fraction))
    if (n_groups := int(groups.max()) + 1) < n_folds:
        values = counted(n_groups, "value")
        raise UsageError(
            f"{table.source}: the group column {column!r} has {values}; holding out {fraction:g} of the rows "
            f"in whole groups needs {n_folds} of them. Raise validation.fraction, or name another column."
        )
    strata = _strata(_label_keys(table), fewest=n_folds)
    folds = stratified_group_folds(strata, groups, n_folds, seed=seed)
    nearest = np.abs(np.bincount(folds, minlength=n_folds) - fraction * len(strata)).argmin()
    return np.flatnonzero(folds == nearest)
