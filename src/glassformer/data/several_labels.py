"""Several labels in a cell: between a separator, or as a list of JSON or Parquet."""

import json
from collections.abc import Iterator

import polars as pl

from glassformer.data.column_kinds import is_opaque
from glassformer.data.wording import counted
from glassformer.errors import UsageError

SEPARATORS = ("|", ";", ",", "/")


def split_labels(values: pl.Series, separator: str) -> pl.Series:
    """Return lists of stripped labels without repeats, in the order of the cell."""
    if values.dtype != pl.List and is_opaque(values.dtype):
        raise UsageError(f"The column {values.name!r} holds {values.dtype}; text or lists are needed.")
    cells = (
        values.to_list()
        if values.dtype == pl.List
        else [_split_cell(cell, separator) for cell in values.cast(pl.String)]
    )
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
