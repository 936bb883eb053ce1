"""Read JSON files from untrusted sources, with limits on their size and values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from glassformer.errors import GlassformerError

MOST_BYTES = 16 << 20  # room for 60,000 learned words with their definitions


def read_json(path: Path, *, where: str = "") -> Any:
    """Return the value that the file holds. It may have 16 MiB at most, and no number in it may be infinite or NaN.

    Args:
        where: what an error message shows before the file's name, instead of its path.

    Raises:
        GlassformerError: the file is damaged, or is not one that a program like ours writes.
    """
    shown = f"{where}: {path.name}" if where else str(path)
    if not path.is_file():  # it may be a folder, or a pipe or device, which may never end
        raise GlassformerError(f"{shown} is not a file; copy it again")
    with path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise GlassformerError(f"{shown} is larger than {MOST_BYTES >> 20} MiB; the file is damaged")
    try:
        return json.loads(raw.decode("utf-8"), parse_float=_finite, parse_constant=_finite)
    except RecursionError as error:
        raise GlassformerError(f"{shown} is nested too deep; the file is damaged") from error
    except ValueError as error:  # UnicodeDecodeError included
        raise GlassformerError(f"{shown} is not readable JSON ({error}); the file is damaged or cut short") from error


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is not a finite number")
    return number
