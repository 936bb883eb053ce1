"""Read JSON files from untrusted sources, with limits on their size and values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from glassformer.errors import GlassformerError

if TYPE_CHECKING:
    from pydantic import BaseModel  # the command line starts without it

Record = TypeVar("Record", bound="BaseModel")
MOST_BYTES = 16 << 20  # room for 60,000 learned words with their definitions


def read_json(path: Path, *, where: str = "", most: int = MOST_BYTES) -> Any:
    """Return the value that the file holds. No number in it may be infinite or NaN.

    Args:
        where: what an error message shows before the file's name, instead of its path.
        most: how many bytes it may have.

    Raises:
        GlassformerError: the file is damaged, or is not one that a program like ours writes.
    """
    shown = f"{where}: {path.name}" if where else str(path)
    raw = read_bounded(path, most, shown)
    try:
        value = json.loads(raw.decode("utf-8"), parse_float=_finite, parse_constant=_finite)
        if b"\\ud" in raw.lower():
            json.dumps(value, ensure_ascii=False).encode()  # halves of a pair could be written nowhere
        return value
    except RecursionError as error:
        raise GlassformerError(f"{shown} is nested too deep; the file is damaged") from error
    except ValueError as error:  # UnicodeDecodeError included
        raise GlassformerError(f"{shown} is not readable JSON ({error}); the file is damaged or cut short") from error


def parsed(text: str) -> Any:
    """Return the value that a text of JSON holds, or None if it holds none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def rows_by_column(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an object with columns, as pandas writes it: `orient=` columns, index, split, or lists."""
    names, data, outer = whole.get("columns"), whole.get("data"), list(whole.values())
    if isinstance(names, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        rows = [dict(zip(map(str, names), row, strict=False)) for row in data if len(row) == len(names)]
        return rows if len(rows) == len(data) and len({*names}) == len(names) else []
    if all(isinstance(values, list) for values in outer) and len({len(values) for values in outer}) == 1:
        if any(isinstance(value, dict | list) for values in outer for value in values):
            return []
        return [dict(zip(whole, row, strict=True)) for row in zip(*outer, strict=True)]
    if len(outer) < 2 or not all(isinstance(each, dict) and [*each] == [*outer[0]] for each in outer):
        return []
    if all(map(str.isdecimal, whole)):
        return outer
    by_number = all(map(str.isdecimal, outer[0]))
    return [{name: values[row] for name, values in whole.items()} for row in outer[0]] if by_number else []


def read_bounded(path: Path, most: int, shown: str) -> bytes:
    """Return the bytes of a file. Raises `GlassformerError` if there are more than `most`, or it is not a file."""
    if not path.is_file():  # it may be a folder, or a pipe or device, which may never end
        raise GlassformerError(f"{shown} is not a file; copy it again")
    with path.open("rb") as file:
        # Without a number: Python would take the memory of so many bytes before it reads the first.
        raw = file.read() if path.stat().st_size <= most else None
    if raw is None or len(raw) > most:
        raise GlassformerError(f"{shown} is larger than {most >> 20} MiB; the file is damaged")
    return raw


def read_settings(path: Path, *, where: str = "") -> dict[str, Any]:
    """Return what `read_json` does, if these are values by name; otherwise the file is damaged."""
    read = read_json(path, where=where)
    if not isinstance(read, dict):
        shown = f"{where}: {path.name}" if where else str(path)
        raise GlassformerError(f"{shown} does not hold settings by name; the file is damaged")
    return read


def as_record(kind: type[Record], raw: Any, path: Path) -> Record:
    """Return what `read_json` does as a record. Raises `GlassformerError` if it does not fit: the file is damaged."""
    from pydantic import ValidationError

    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:100]
        what = first["msg"].removeprefix("Value error, ")
        raise GlassformerError(f"{path}: {where + ': ' if where else ''}{what}; the file is damaged") from error


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is not a finite number")
    return number
