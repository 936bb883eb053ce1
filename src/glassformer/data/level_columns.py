"""Labels whose levels stand in several columns, as paths."""

from collections.abc import Sequence

import polars as pl

from glassformer.errors import UsageError, quoted


def path_of(levels: Sequence[pl.Series], separator: str) -> pl.Series:
    """Join the levels of labels, the highest first. A path ends before the first empty level.

    Args:
        levels: strings; an empty level is null.
    """
    frame = pl.DataFrame([values.alias(str(depth)) for depth, values in enumerate(levels)])
    path, there = pl.col("0"), pl.lit(True)
    for name in frame.columns[1:]:
        there = there & pl.col(name).is_not_null()
        path = pl.when(there).then(pl.concat_str(path, pl.col(name), separator=separator)).otherwise(path)
    return frame.select(path).to_series()


def check_levels(levels: Sequence[pl.Series], separator: str) -> None:
    """Raise `UsageError` if a cell holds what stands between two levels: its path would be another one."""
    for cells in levels:
        if len(odd := cells.filter(cells.str.contains(separator, literal=True))):
            raise UsageError(
                f"The column {quoted(cells.name)} holds {quoted(odd[0])}, and {separator!r} stands between two levels. "
                "Name something that no cell holds, such as `levels=' :: '`"
            )
