"""Several labels in a cell, between a separator or as a list; and labels whose levels stand in several columns."""

import re
from collections.abc import Iterator, Sequence

import polars as pl

from glassformer.data.column_kinds import is_opaque
from glassformer.data.json_files import parsed
from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError, brief, quoted

SEVERAL = "For several labels per text add: `multilabel='|'`"
_SHOWN_LIST = re.compile(r"[\[{](.*)[\]}]", re.DOTALL)
_ITEM = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(?<![\w'"])(-?\d++(?:\.\d*+)?)(?![\w'"])""")
_LONGEST_LIST = 2_000  # characters: an expression that searches again and again takes long on quotes without an end
SEPARATORS = ("|", ";", ",", "/")


def split_labels(values: pl.Series, separator: str) -> pl.Series:
    """Return lists of stripped labels without repeats, in the order of the cell."""
    if values.dtype != pl.List and is_opaque(values.dtype):
        raise UsageError(f"The column {values.name!r} holds {values.dtype}; text or lists are needed.")
    cells = values.to_list()
    if not separator:
        raise UsageError("`multilabel=` is empty; name what stands between two labels of a text: `multilabel='|'`")
    if values.dtype != pl.List:
        texts = values.cast(pl.String).fill_null("")
        cells = [cell.split(separator) if (found := json_list(cell)) is None else found for cell in texts]
    for cell in cells:
        _refuse_objects(cell or (), f"The column {quoted(values.name)}")
    flat = [[str(label).strip() for label in cell or [] if label is not None] for cell in cells]
    return pl.Series(values.name, [list(dict.fromkeys(filter(None, cell))) for cell in flat], pl.List(pl.String))


def refuse_lists(labels: pl.Series, place: str) -> None:
    """Raise `UsageError` if a cell holds a list, where each text has one label."""
    for cell in labels.drop_nulls().unique().sort():
        if (found := json_list(cell)) is not None:
            _refuse_objects(found, place)
            raise UsageError(f"{place} holds lists such as {brief(cell)}. {SEVERAL}")


def _refuse_objects(cell: Sequence[object], place: str) -> None:
    """Raise `UsageError` if a list holds other lists or objects, which are no labels."""
    if odd := next((each for each in cell if isinstance(each, list | dict)), None):
        raise UsageError(
            f"{place} holds lists of what is no label, such as {brief(str(odd))}. Make a column of the labels alone: a "
            "word or a number for each text, or several between `|`."
        )


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


def json_list(cell: str) -> list[object] | None:
    """Return the list that a cell holds, as JSON or as Python or NumPy show it: `['a', 'b']`, `['a' 'b']`, `{'a'}`."""
    start = cell.lstrip()[:1]
    if start != "[" and (start != "{" or ("'" not in cell and '"' not in cell)):  # {0} is a label
        return None
    found = parsed(cell)
    if found is None and len(cell) <= _LONGEST_LIST and (inner := _SHOWN_LIST.fullmatch(cell.strip())):
        items = [re.sub(r"\\(.)", r"\1", one or other or bare) for one, other, bare in _ITEM.findall(inner[1])]
        found = items if not _ITEM.sub("", inner[1]).strip(" ,\n") else None
    return found if isinstance(found, list) else None


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
