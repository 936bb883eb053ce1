"""Weights of earlier format versions: give them the names of today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

_TRUNK = "trunk."

Value = TypeVar("Value")


def renamed(weights: Mapping[str, Value], expected: Iterable[str]) -> dict[str, Value]:
    """Rename weights from version 1 to version 2: the shared part of our own models is now called `trunk`.

    Args:
        weights: the tensors by name, or other facts about them by name.
        expected: the names in the model that gets the weights. Other designs have no trunk; their names do not change.
    """
    in_trunk = {name.removeprefix(_TRUNK): name for name in expected if name.startswith(_TRUNK)}
    return {in_trunk.get(name, name): value for name, value in weights.items()}
