"""Labels whose levels stand in several columns, as paths."""

from collections.abc import Sequence

import polars as pl

from glassformer.data.wording import listed
from glassformer.errors import UsageError, quoted

_PROPOSED = (" > ", " :: ", " / ", " | ", " >> ")


def joined_levels(levels: Sequence[pl.Series], separator: str) -> pl.Series:
    """Join the levels of labels, the highest first. A path ends before the first empty level.

    Args:
        levels: strings; an empty level is null.
    """
    cells = _cells_of(levels)
    return pl.select(pl.when(cells.list.len() > 0).then(cells.list.join(separator))).to_series()


def check_levels(levels: Sequence[pl.Series], separator: str, source: str) -> None:
    """Raise `UsageError` if a path has other levels than its cells: what stands between two is in one, or arises.

    Args:
        source: names the table in the message.
    """
    cells = _cells_of(levels)
    for odd in (joined_levels(levels, separator).str.split(separator) != cells).arg_true().head(1):
        every = pl.concat(list(levels))
        free = (each for each in _PROPOSED if each != separator and not every.str.contains(each, literal=True).any())
        raise UsageError(
            f"{source}: the columns {listed([quoted(each.name) for each in levels], 5)} hold "
            f"{listed([quoted(cell) for cell in cells[odd]], 5)}, and joined by {separator!r} these are other levels. "
            f"Name something that no cell holds, such as `levels={next(free, _PROPOSED[-1])!r}`"
        )


def _cells_of(levels: Sequence[pl.Series]) -> pl.Series:
    """Return the cells of each row up to the first empty one."""
    frame = pl.DataFrame([values.alias(str(depth)) for depth, values in enumerate(levels)])
    there = pl.lit(True)
    kept = [pl.when(there := there & pl.col(name).is_not_null()).then(pl.col(name)) for name in frame.columns]
    return frame.select(pl.concat_list(kept).list.drop_nulls()).to_series()
