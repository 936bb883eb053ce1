"""Find what a kind of answer adds to a room, by name: `targets/number/training.py` adds to the room `training`.

Rooms ask by name, because these files import from rooms that stand above `targets`. What they add is their `PART`. A
file without one adds its functions, which the other kinds have by the same names.
"""

from importlib import import_module
from typing import Any


def part(folder: str, room: str) -> Any:
    """Return what a folder of `targets/` adds to a room."""
    module = import_module(f"glassformer.targets.{folder}.{room}")
    return getattr(module, "PART", module)


def folder_of(kind: str | None) -> str:
    """Return the folder of `targets/` with what a kind of answer (`Target.kind`, or a task) adds to the rooms."""
    return "number" if kind == "number" else "labels"


def part_of(task: str | None, room: str) -> Any:
    """Return what the kind of answer that a task learns adds to a room (see `SourceConfig.task`)."""
    return part(folder_of(task), room)
