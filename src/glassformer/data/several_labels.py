"""Several labels in a cell, between a separator or as a list; and labels whose levels stand in several columns."""

import json
from collections.abc import Iterator, Sequence

import polars as pl

from glassformer.data.column_kinds import is_opaque
from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError, quoted

SEPARATORS = ("|", ";", ",", "/")


def split_labels(values: pl.Series, separator: str) -> pl.Series:
    """Return lists of stripped labels without repeats, in the order of the cell."""
    if values.dtype != pl.List and is_opaque(values.dtype):
        raise UsageError(f"The column {values.name!r} holds {values.dtype}; text or lists are needed.")
    cells = values.to_list()
    if values.dtype != pl.List:
        cells = [_split_cell(cell, separator) for cell in values.cast(pl.String)]
    flat = [[str(label).strip() for label in cell or [] if label is not None] for cell in cells]
    return pl.Series(values.name, [list(dict.fromkeys(filter(None, cell))) for cell in flat], pl.List(pl.String))


def said_of_several(labels: pl.Series, column: str | None, separator: str) -> Iterator[str]:
    """Yield what is odd about several labels in a cell."""
    if none := int((labels.list.len() == 0).sum()):
        yield f"{counted(none, 'row has', 'rows have')} no label; kept, as texts to which no label applies"
    if labels.list.len().max() == 1:
        other = _other_separator(labels, separator)
        yield f"no cell of {column!r} holds the separator {separator!r}: no text has several labels{other}"


def _other_separator(labels: pl.Series, separator: str) -> str:
    """Return a hint if many cells that were not split hold another separator."""
    cells = labels.list.first().drop_nulls()
    others = {other: int(cells.str.contains(other, literal=True).sum()) for other in SEPARATORS if other != separator}
    most = max(others, key=lambda other: others[other])
    if others[most] < max(2, len(cells) / 20):
        return ""
    return f". {others[most]:,} of its {len(cells):,} labels hold {most!r}: is it `multilabel={most!r}`?"


def _split_cell(cell: str | None, separator: str) -> list[object]:
    listed = json_list(cell or "")
    return list((cell or "").split(separator)) if listed is None else listed


def json_list(cell: str) -> list[object] | None:
    if not cell.lstrip().startswith("["):
        return None
    try:
        return list(json.loads(cell))
    except (ValueError, RecursionError):
        return None


_PROPOSED = (" > ", " :: ", " / ", " | ", " >> ")


def joined_levels(levels: Sequence[pl.Series], separator: str) -> pl.Series:
    """Join the levels of labels, the highest first. A path ends before the first empty level.

    Args:
        levels: strings; an empty level is null.
    """
    cells = _cells_of(levels)
    return pl.select(pl.when(cells.list.len() > 0).then(cells.list.join(separator))).to_series()


def check_levels(levels: Sequence[pl.Series], separator: str, source: str) -> None:
    """Raise `UsageError` if a path has other levels than its cells: what stands between two is in one, or arises."""
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
