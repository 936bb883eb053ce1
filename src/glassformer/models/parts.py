"""What a model is made of, whatever its design calls it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import nn


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a model, from the token ids up. A part that the design does not have is empty.

    Attributes:
        embedding: tokens to vectors: the table of embeddings, positions, a norm of their sum.
        blocks: what the design repeats, the lowest first.
        norm: behind the last block.
        pooling: the vectors of the tokens to one vector for the text.
        head: from there to the logits.
    """

    embedding: tuple[nn.Module, ...] = ()
    blocks: tuple[nn.Module, ...] = ()
    norm: tuple[nn.Module, ...] = ()
    pooling: tuple[nn.Module, ...] = ()
    head: tuple[nn.Module, ...] = ()


@runtime_checkable
class _HasParts(Protocol):
    def parts(self) -> Parts: ...


def parts_of(model: nn.Module) -> Parts:
    """The parts of a model; all are empty where it names none."""
    return model.parts() if isinstance(model, _HasParts) else Parts()


def names_of(model: nn.Module, modules: Sequence[nn.Module]) -> list[str]:
    """What `model` calls these modules, in their order."""
    names = {module: name for name, module in model.named_modules()}
    return [names[module] for module in modules]
