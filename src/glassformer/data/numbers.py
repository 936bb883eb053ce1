"""The label column of a table as numbers."""

from __future__ import annotations

import numpy as np
import polars as pl

from glassformer.data.arrays import Numbers
from glassformer.data.table import Table, row_list
from glassformer.data.wording import counted, in_a_row
from glassformer.errors import UsageError, quoted

_SHOWN = 3  # different cells
MOST = 1e36  # answers to held-out rows are kept in 32 bits, and may be farther from 0 than all numbers


def numbers_of(table: Table) -> Numbers:
    """Return the number of each row: (rows,).

    Raises:
        UsageError: a label is not a number, is infinite or far too large.
    """
    numbers = table.frame["label"].cast(pl.Float64, strict=False)
    usable = numbers.is_not_null() & numbers.is_finite().fill_null(value=False) & (numbers.abs() < MOST)
    if not usable.all():
        odd = table.frame.filter(~usable.fill_null(value=False))
        rows = odd.group_by("label", maintain_order=True).agg("row")
        shown = [f"{quoted(label)} ({row_list(numbers)})" for label, numbers in rows.head(_SHOWN).iter_rows()]
        if (others := rows.height - _SHOWN) > 0:
            shown.append(counted(others, "other value"))
        wrong = f"{in_a_row(shown)} {'are not finite numbers' if shown[1:] else 'is not a finite number'}"
        comma = " Write 3,5 as 3.5, and 1,000 as 1000." if odd["label"].str.contains(",").any() else ""
        raise UsageError(
            f"{table.place(table.label_column)}: {wrong}.{comma} Correct these rows or leave "
            "the cell empty. If the labels are classes, say so: `task='classes'`"
        )
    return numbers.to_numpy().astype(np.float64)


def check_varies(
    numbers: Numbers,
    table: Table,
    *,
    rows: str = "row",
    so: str = "there is nothing to learn. Is `target=` the right column?",
) -> None:
    """Raise `UsageError` if all numbers are the same."""
    if numbers.min() == numbers.max():
        raise UsageError(f"{table.place(table.label_column)}: every {rows} has the number {numbers[0]:g}, so {so}")
