"""Models that a stopped benchmark need not make again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from glassformer.data.files import written_aside

NOTE = "made-of.json"


def make_once(folder: Path, made_of: Mapping[str, Any], make: Callable[[], object]) -> None:
    """Let `make` fill a model folder, unless a model is there that was made of the same.

    Args:
        made_of: all that decides what the model is, as JSON: recipe, texts, the models that it is made from.
        make: replaces what is there.
    """
    note = folder / NOTE
    wanted = json.dumps(made_of, sort_keys=True)
    if (folder / "config.json").is_file() and note.is_file() and note.read_text(encoding="utf-8") == wanted:
        return
    note.unlink(missing_ok=True)  # before it is made: of what is then there nothing is known until it is done
    make()
    with written_aside(note) as aside:
        aside.write_text(wanted, encoding="utf-8")
