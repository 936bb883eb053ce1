"""Which kind of model a folder holds. Without PyTorch, so that an exported model is recognised where it is missing."""

from __future__ import annotations

import re
from pathlib import Path

from glassformer.data.json_files import read_json
from glassformer.errors import GlassformerError

_BEGINNING = 65_536  # bytes of a damaged config.json that are searched for its format


def format_of(folder: Path) -> str | None:
    """Return the format that `config.json` names, or None. The rest of the file may be damaged."""
    file = folder / "config.json"
    if not file.is_file():
        return None
    try:
        raw = read_json(file)
    except GlassformerError:
        with file.open("rb") as opened:
            named = re.search(rb'"format"\s*:\s*"([^"]*)"', opened.read(_BEGINNING))
        return None if named is None else named[1].decode(errors="replace")
    return str(raw.get("format")) if isinstance(raw, dict) else None
