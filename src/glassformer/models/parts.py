"""The parts of a model under common names. Each design has its own names for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import nn


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a model, in the order of the forward pass. A part that the design does not have is empty.

    Attributes:
        embedding: turns tokens into vectors: the table of embeddings, positions, and a norm of their sum.
        pooling: turns the vectors of the tokens into one vector for the text.
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
    """Return the parts of a model. All are empty if the model does not name its parts."""
    return model.parts() if isinstance(model, _HasParts) else Parts()


def embedding_table(model: nn.Module) -> nn.Parameter | None:
    """Return the learned table of embeddings (vocab_size, d_model), or None if the design has none."""
    embedding = parts_of(model).embedding
    table = getattr(embedding[0], "weight", None) if embedding else None
    return table if isinstance(table, nn.Parameter) else None


def names_of(model: nn.Module, modules: Sequence[nn.Module]) -> list[str]:
    """Return the names that these modules have in `model`, in the same order."""
    names = {module: name for name, module in model.named_modules()}
    return [names[module] for module in modules]
