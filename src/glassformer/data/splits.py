"""Hold out rows for validation, and drop training rows whose text is held out. Rows may be added later."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.data.addresses import Source
from glassformer.data.dates import shown_date
from glassformer.data.group_folds import stratified_group_folds
from glassformer.data.labels import conflicting_rows
from glassformer.data.mapped import filtered
from glassformer.data.stratified import stratified_rows
from glassformer.data.table import Table, row_keys, row_list, text_keys
from glassformer.data.wording import counted
from glassformer.errors import UsageError, quoted

REPLAYED = "replayed"
"""A column of truth values: whether the transformer learns a row. The counting reader learns all of them."""
_MANY_VALUES = 100_000
_UNNAMED = " "  # what the group of a row without one begins with: values of a column of groups are stripped


class ValidationConfig(BaseModel):
    """Where the validation rows come from (recipe section `[validation]`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fraction: float | None = Field(default=0.1, ge=0, le=0.5)
    """Share of the training rows that is held out, from 0 to 0.5. Each class keeps its proportion. With 0 or None
    no rows are set aside, and the last epoch is kept."""
    file: Source | None = None
    """File of your own validation rows. They replace the share of the training rows."""
    group: str | None = None
    """Column with a group for each row, such as its author or film. No group is split between training and validation.
    Set it if texts of one group are alike, as the validation accuracy would be too high otherwise."""
    time: str | None = None
    """Column with the date of each row. The latest rows are held out, also of a small table, and no row is drawn."""
    min_rows: int = Field(default=2_000, ge=0, le=10**9)
    """Fewest rows of a training table that is split, from 0 on. Of a smaller table no rows are set aside, and the
    readers are cross-fitted instead. For a transformer alone the default is 200."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        for name, column in {"group": self.group, "time": self.time}.items():
            if column is not None and (self.file is not None or not self.fraction):
                raise ValueError(
                    f"validation.{name} = {column!r} needs validation.fraction and no validation.file "
                    f"(fraction is {self.fraction}, file is {self.file!r})"
                )
        if self.group is not None and self.time is not None:
            raise ValueError(
                f"validation.time = {self.time!r} holds out the latest rows, and validation.group = {self.group!r} "
                "whole groups, which may have early and late rows; leave one out"
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

    @property
    def tables(self) -> list[Table]:
        return [self.train] if self.validation is None else [self.train, self.validation]


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
    `UsageError` if no row is left to train on, or if there are too few groups or dates to split.
    """
    if config.group is not None and "group" not in table.frame.columns:
        raise UsageError(
            f"validation.group = {config.group!r}: {table.source} have no groups; `fit` takes them as `groups=`"
        )
    notes = list(_conflicts(table))
    train = table
    if test is not None:
        train = train.without(test.frame["text"], "duplicate of a test text")
    if validation is not None:
        if test is not None:
            validation = validation.without(test.frame["text"], "duplicate of a test text")
        train = train.without(validation.frame["text"], "duplicate of a validation text")
        notes.append(f"validation: {counted(validation.frame.height, 'row')} of {validation.source}")
    elif not config.fraction:
        notes.append("validation: no rows are set aside (validation.fraction is 0)")
    elif train.frame.height < config.min_rows and config.time is None:
        notes.append(
            f"validation: no rows are set aside, as {counted(train.frame.height, 'row is', 'rows are')} fewer than "
            f"validation.min_rows = {config.min_rows}"
        )
    else:
        held_out = _latest(train, config) if config.time else _held_out(train, config.fraction, config.group, seed)
        validation = replace(train, frame=filtered(train.frame, held_out), dropped=())
        train = replace(train, frame=filtered(train.frame, ~held_out))
        whole = ""
        if config.group is not None:
            whole = f", {_groups(validation)} of {_groups(table)} groups of {config.group!r}"
        if config.time is not None:
            whole = f", the latest: {_cut_in_words(train, validation)}"
        train = train.without(validation.frame["text"], "duplicate of a validation text")
        notes.append(f"validation: {validation.frame.height:,} of {table.frame.height:,} rows held out{whole}")
    if table.dated is not None and config.fraction and config.file is None:
        notes.append(
            f"rows have dates (column {quoted(table.dated)}): a random split hides how the model does on later rows; "
            f"`time={table.dated!r}` measures it"
        )
    if table.shared is not None and config.fraction and config.file is None:
        notes.append(table.shared)
    if validation is None and "group" in train.frame.columns:
        groups, one = _groups(train), f"all rows are of one group of {config.group!r}, so figures may be too good"
        notes.append(one if groups == "1" else f"{groups} groups of {config.group!r} stay whole")
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
    return digest_of(part for row in zip(table.frame["text"], table.label_keys, strict=True) for part in row)


def digest_of(texts: Iterable[str]) -> str:
    """Return the SHA-256 (hex) of texts in their order."""
    digest = hashlib.sha256()
    for text in texts:
        part = text.encode()
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


def _groups(table: Table) -> str:
    return f"{table.frame['group'].n_unique():,}"


def _held_out(table: Table, fraction: float, group: str | None, seed: int) -> pl.Series:
    """Return a mask that is True for the held-out rows."""
    n_rows = table.frame.height
    n_held_out = max(1, round(fraction * n_rows))
    strata = _strata(table.label_keys, fewest=2)
    if group is not None:
        chosen = _whole_groups(table, group, fraction, seed)
    elif np.count_nonzero(np.bincount(strata)) <= min(n_held_out, n_rows - n_held_out):
        chosen = stratified_rows(strata, n_held_out, seed)
    else:  # more classes than held-out rows: there is no proportion to keep
        chosen = np.random.default_rng(seed).permutation(n_rows)[:n_held_out]
    mask = np.zeros(n_rows, dtype=bool)
    mask[chosen] = True
    return pl.Series(mask)


def _latest(table: Table, config: ValidationConfig) -> pl.Series:
    """Return a mask that is True for the latest rows. Rows of one date stay together."""
    if "time" not in table.frame.columns:
        raise UsageError(f"validation.time = {config.time!r}: {table.source} have no column of dates; leave it out")
    times = table.frame["time"]
    dates = times.value_counts().sort("time")
    if dates.height < 2:
        raise UsageError(
            f"{table.source}: all rows have the same date in the column {quoted(config.time)}, so none is later; name "
            "another column with `time=`."
        )
    later = table.frame.height - dates["count"].cum_sum()[:-1]
    nearest = int((later - (config.fraction or 0) * table.frame.height).abs().arg_min() or 0)
    return times > dates["time"][nearest]


def _cut_in_words(earlier: Table, later: Table) -> str:
    """Say at which date rows were cut. Raises `UsageError` if earlier rows have one label alone, and later ones not."""
    labels, times = earlier.frame["label"], pl.concat([earlier.frame["time"], later.frame["time"]])
    last, end = (shown_date(each.frame["time"].max(), times) for each in (earlier, later))
    if not earlier.multilabel and labels.n_unique() == 1 and (later.frame["label"] != labels[0]).any():
        raise UsageError(
            f"{earlier.source}: all rows until {last} have the label {quoted(labels[0])}, so nothing can be learned "
            "for later ones. Leave out `time=`, or add earlier rows with other labels."
        )
    return f"trained on rows until {last}, tested on rows after, until {end}"


def _strata(labels: pl.Series, *, fewest: int) -> np.ndarray:
    """Return class numbers to stratify by. Classes or combinations of labels with fewer rows are pooled into one."""
    numbers = _numbers(labels)
    counts = np.bincount(numbers)
    rare, number = counts < fewest, np.arange(len(counts), dtype=numbers.dtype)
    # A pool that is too small joins the largest class.
    number[rare] = counts.argmax() if counts[rare].sum() < fewest else len(counts)
    return number[numbers]


def _numbers(values: pl.Series) -> np.ndarray:
    """Number the distinct values in the order of code points. A number takes less memory than a string."""
    distinct = values.unique().sort()
    if len(distinct) > _MANY_VALUES:  # an Enum takes some hundred bytes for each
        return (values.rank("dense") - 1).cast(pl.Int32).to_numpy()
    return values.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).to_numpy()


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
    strata = _strata(table.label_keys, fewest=n_folds)
    folds = stratified_group_folds(strata, groups, n_folds, seed=seed)
    nearest = np.abs(np.bincount(folds, minlength=n_folds) - fraction * len(strata)).argmin()
    return np.flatnonzero(folds == nearest)


def with_groups(table: Table) -> Table:
    """Return the table with a group for each row. Without one, only rows of the same text belong together."""
    own = _UNNAMED + text_keys(table.frame["text"])
    groups = table.frame["group"].fill_null(own) if "group" in table.frame.columns else own
    return replace(table, frame=table.frame.with_columns(group=groups))


def named_groups(groups: Iterable[str]) -> set[str]:
    """Return the groups that a column names: those of `with_groups`, without the rows that have none."""
    return {name for name in groups if not name.startswith(_UNNAMED)}


def joined(old: Table, new: Table) -> Table:
    """Return the rows of both tables. Those of the second are numbered on from the first."""
    columns = [name for name in ("row", "text", "label", "group") if name in old.frame.columns]
    new = with_groups(new) if "group" in columns else new
    numbered = new.frame.select(columns).with_columns(pl.col("row") + old.frame["row"].max())
    return replace(
        old,
        frame=pl.concat([old.frame.select(columns), numbered]),
        source=f"{old.source} and {new.source}",
        dropped=(*old.dropped, *new.dropped),
        notes=(*old.notes, *(f"{new.source}: {note}" for note in new.notes)),
    )


def with_added(
    splits: Splits, new: Table, *, fraction: float | None, seed: int, test: Table | None, replay: float = 1.0
) -> Splits:
    """Add the rows of a table to rows that were split before.

    What was held out stays held out, because a model that is trained further has not learned it. A fraction of the new
    rows joins it, unless nothing was held out. Rows of groups that are held out join it too, and no group is split.

    Args:
        fraction: the share of the new rows that is held out; None or 0 if the validation rows are a table of their own.
        replay: the share of the rows of before that the transformer learns again, from 0 to 1.

    Raises:
        UsageError: no row is left to learn from.
    """
    train, validation = splits.train, splits.validation
    if test is not None:
        new = new.without(test.frame["text"], f"duplicate of a test text, in {new.source}")
    if validation is not None:
        new = new.without(validation.frame["text"], f"duplicate of a validation text, in {new.source}")
    new = _without_known(new, train)
    if validation is not None and fraction and new.frame.height:
        new, mask = _added_held_out(new, train, validation, fraction, seed)
        held_out = replace(new, frame=new.frame.filter(mask), dropped=(), notes=())
        reason = f"duplicate of a new validation text, in {new.source}"
        new = replace(new, frame=new.frame.filter(~mask)).without(held_out.frame["text"], reason)
        validation = joined(validation, held_out) if mask.any() else validation
    if new.frame.is_empty():
        raise UsageError(
            f"{new.source}: no row is left to learn from: the model has learned them, or they are held out, such as "
            "all rows of held-out groups"
        )
    rows = joined(train, new)
    if replay < 1:
        old, learned = train.frame.height, np.ones(rows.frame.height, np.bool_)
        learned[:old] = False
        learned[np.random.default_rng(0).permutation(old)[: round(replay * old)]] = True
        rows = replace(rows, frame=rows.frame.with_columns(pl.Series(REPLAYED, learned)))
    added = f"added: {counted(new.frame.height, 'row')} of {new.source} to learn from"
    keys = row_keys(new.frame["text"])
    again = keys.filter(keys.is_in(row_keys(train.frame["text"]).implode())).n_unique()
    other = f"{counted(again, 'text')} of {new.source} learned with another label than before; all are kept"
    notes = (*splits.notes, added, *([other] if again else []))
    return Splits(train=rows, validation=validation, notes=notes)


def _met(new: Table, train: Table) -> pl.Series:
    """Return a mask that is True for rows whose text was learned, under whatever label."""
    return text_keys(new.frame["text"]).is_in(text_keys(train.frame["text"]).implode())


def _added_held_out(new: Table, train: Table, validation: Table, fraction: float, seed: int) -> tuple[Table, pl.Series]:
    """Return the new rows, and a mask that is True for those to hold out: never a text that was learned.

    In whole groups, these are all groups of the validation rows, and a fraction of those that are new.
    """
    if "group" not in train.frame.columns:
        one = new.frame.height == 1
        return new, pl.Series([False]) if one else _held_out(new, fraction, None, seed) & ~_met(new, train)
    new = with_groups(new)
    theirs = new.frame["group"].is_in(validation.frame["group"].implode())
    new = new.leaving_out(theirs & _met(new, train), f"learned before, now in a held-out group, in {new.source}")
    groups = new.frame["group"]
    theirs = groups.is_in(validation.frame["group"].implode())
    learned = pl.concat([train.frame["group"], groups.filter(_met(new, train))])
    free = groups.filter(~theirs & ~groups.is_in(learned.implode())).unique().sort()
    drawn = np.random.default_rng(seed).permutation(len(free))[: round(fraction * len(free))]
    return new, theirs | groups.is_in(free[drawn].implode())


def _without_known(new: Table, train: Table) -> Table:
    """Leave out rows whose text is among those to learn from, with the same label."""
    ours, known = (
        pl.DataFrame({"key": text_keys(table.frame["text"]), "label": table.label_keys}) for table in (new, train)
    )
    found = ours.join(known.unique().with_columns(known=True), ["key", "label"], "left", maintain_order="left")["known"]
    return new.leaving_out(found.fill_null(value=False), f"learned before, in {new.source}")
