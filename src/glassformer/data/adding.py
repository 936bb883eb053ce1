"""Rows that are added to those that a model has learned: what is learned again, and what is held out."""

from dataclasses import replace

import numpy as np
import polars as pl

from glassformer.data.splits import Splits, held_out_rows, without
from glassformer.data.table import Dropped, Table, text_keys
from glassformer.data.wording import counted
from glassformer.errors import UsageError

REPLAYED = "replayed"
"""A column of truth values: whether the transformer learns a row. The counting reader learns all of them."""


def joined(old: Table, new: Table) -> Table:
    """Return the rows of both tables. Those of the second are numbered on from the first."""
    columns = [name for name in ("row", "text", "label") if name in old.frame.columns]
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
    rows joins it, unless nothing was held out.

    Args:
        fraction: the share of the new rows that is held out; None or 0 if the validation rows are a table of their own.
        test: texts that must not be learned.
        replay: the share of the rows of before that the transformer learns again, from 0 to 1.

    Raises:
        UsageError: no row is new.
    """
    train, validation = splits.train, splits.validation
    if test is not None:
        new = without(new, test, f"duplicate of a test text, in {new.source}")
    if validation is not None:
        new = without(new, validation, f"duplicate of a validation text, in {new.source}")
    new = _without_known(new, train)
    if new.frame.is_empty():
        raise UsageError(f"{new.source}: no row is new: the model has learned all of them, or they are held out")
    if validation is not None and fraction and new.frame.height > 1:
        met = text_keys(new.frame["text"]).is_in(text_keys(train.frame["text"]).implode())
        mask = held_out_rows(new, fraction, seed) & ~met  # the model has learned these texts, under another label
        held_out = replace(new, frame=new.frame.filter(mask), dropped=(), notes=())
        reason = f"duplicate of a new validation text, in {new.source}"
        new = without(replace(new, frame=new.frame.filter(~mask)), held_out, reason)
        validation = joined(validation, held_out) if mask.any() else validation
    rows = joined(train, new)
    if replay < 1:
        rows = replace(rows, frame=rows.frame.with_columns(_replayed(train.frame.height, rows.frame.height, replay)))
    added = f"added: {counted(new.frame.height, 'row')} of {new.source} to learn from"
    return Splits(train=rows, validation=validation, notes=(*splits.notes, added))


def _without_known(new: Table, train: Table) -> Table:
    """Leave out rows whose text is among those to learn from, with the same label."""
    keys = [pl.Series("key", text_keys(table.frame["text"])) for table in (new, train)]
    labels = [table.frame["label"].list.sort() if table.multilabel else table.frame["label"] for table in (new, train)]
    ours, known = (pl.DataFrame({"key": key, "label": label}) for key, label in zip(keys, labels, strict=True))
    is_new = ours.with_row_index("at").join(known.unique(), on=["key", "label"], how="anti")["at"]
    if len(is_new) == new.frame.height:
        return new
    kept = np.zeros(new.frame.height, np.bool_)
    kept[is_new.to_numpy()] = True
    mask = pl.Series(kept)
    dropped = Dropped(reason=f"learned before, in {new.source}", rows=new.frame.filter(~mask)["row"].to_list())
    return replace(new, frame=new.frame.filter(mask), dropped=(*new.dropped, dropped))


def _replayed(old: int, rows: int, share: float) -> pl.Series:
    """Return the column: a random share of the old rows, and all new ones."""
    learned = np.ones(rows, np.bool_)
    learned[:old] = False
    learned[np.random.default_rng(0).permutation(old)[: round(share * old)]] = True
    return pl.Series(REPLAYED, learned)
