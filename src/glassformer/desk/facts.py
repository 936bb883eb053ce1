"""What is known about a project by name (see `Project`): the kind of its labels, and whether a desk wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.desk.labelling import Labelling
from glassformer.targets.parts import part_of


def labelling_of(facts: Mapping[str, Any]) -> Labelling:
    """Return the kind of labels of a project.

    Its facts are `task`, `separator` (of several labels in the table) and `levels` (what separates those of a class).
    """
    return part_of(facts.get("task"), "desk")(facts.get("task"), facts.get("separator"), facts.get("levels"))


def check_facts(facts: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a fact is none that a desk wrote. The table is a file in the folder of the project."""
    for name in ("table", "text", "label", "task", "separator", "levels", "rules", "encoding", "person"):
        if not isinstance(facts.get(name), str | None):
            raise ValueError(f"its fact {name!r} is no text")
    for name in ("other_texts", "columns", "lower", "found", "doubts", "added", "blind"):
        if not isinstance(facts.get(name, []), list):
            raise ValueError(f"its fact {name!r} is no list")
    for name in ("threshold", "wrong", "human"):
        if not isinstance(facts.get(name, 0), int | float):
            raise ValueError(f"its fact {name!r} is no number")
    table = Path(facts.get("table") or ".")  # a part of it, behind #, may hold slashes
    if table.is_absolute() or ".." in table.parts:
        raise ValueError("its table is a file outside the project")
