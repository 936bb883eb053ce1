"""What fits into which slot of a block or a model.

The type checker sees what each slot is called with and what it gives back, where a bare `nn.Module` says "anything".
Slots are classes and not protocols: a norm and a pooling take the same arguments and only their names tell them apart,
and a part must be an `nn.Module`, which no protocol can ask for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

AttentionMask = Bool[Tensor, "batch seq"] | Bool[Tensor, "batch seq seq"]
"""True = attend (see `masks`)."""
Positions = Int[Tensor, "batch seq"] | None
"""Where tokens stand; left out, 0, 1, 2 … (see `positions`)."""


class Embedding(nn.Module, ABC):
    """Token ids to vectors."""

    @abstractmethod
    def forward(self, token_ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class PositionLayer(nn.Module, ABC):
    """Tells embeddings, or queries and keys, where they stand."""

    @abstractmethod
    def forward(
        self, features: Float[Tensor, "*heads seq dim"], positions: Positions = None
    ) -> Float[Tensor, "*heads seq dim"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class Pattern(nn.Module, ABC):
    """Who may look at whom."""

    @abstractmethod
    def forward(self, attention_mask: AttentionMask) -> Bool[Tensor, "batch 1 #seq seq"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class Norm(nn.Module, ABC):
    """The features of each position, normalised."""

    @abstractmethod
    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: AttentionMask
    ) -> Float[Tensor, "batch seq d_model"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class FeedForwardLayer(nn.Module, ABC):
    """What each position does by itself."""

    @abstractmethod
    def forward(self, hidden: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class Pooling(nn.Module, ABC):
    """The vectors of a text's tokens to one vector."""

    @abstractmethod
    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch features"]: ...

    if TYPE_CHECKING:
        __call__ = forward
