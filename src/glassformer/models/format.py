"""Weights that an earlier version wrote, by the names of today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torch import Tensor

_TRUNK = "trunk."


def renamed(weights: Mapping[str, Tensor], expected: Iterable[str]) -> dict[str, Tensor]:
    """Version 1 → version 2: what a classifier, language model or reward model of ours shares is in its `trunk`.

    Args:
        expected: the names of the model that the weights are for. Other designs have no trunk, and their names stay.
    """
    in_trunk = {name.removeprefix(_TRUNK): name for name in expected if name.startswith(_TRUNK)}
    return {in_trunk.get(name, name): tensor for name, tensor in weights.items()}
