"""Weights that an earlier version wrote, by the names of today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

_TRUNK = "trunk."

Value = TypeVar("Value")


def renamed(weights: Mapping[str, Value], expected: Iterable[str]) -> dict[str, Value]:
    """Version 1 → version 2: what a classifier, language model or reward model of ours shares is in its `trunk`.

    Args:
        weights: the tensors, or what else is known of them, by name.
        expected: the names of the model that the weights are for. Other designs have no trunk, and their names stay.
    """
    in_trunk = {name.removeprefix(_TRUNK): name for name in expected if name.startswith(_TRUNK)}
    return {in_trunk.get(name, name): value for name, value in weights.items()}
