"""Base classes of the exchangeable parts of a model: embeddings, positions, patterns, norms, feed-forwards, poolings.

They tell the type checker the arguments and the result of each part; `nn.Module` alone allows anything. They are
classes, not protocols, for two reasons. A norm and a pooling take the same arguments, so a protocol could not tell them
apart. And every part must be an `nn.Module`, which a protocol cannot demand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

AttentionMask = Bool[Tensor, "batch seq"] | Bool[Tensor, "batch seq seq"]
"""True means attend (see `masks`)."""
Positions = Int[Tensor, "batch seq"] | None
"""The positions of tokens; None means 0, 1, 2 … (see `positions`)."""


class Embedding(nn.Module, ABC):
    """Turns token ids into vectors."""

    @abstractmethod
    def forward(self, token_ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class PositionLayer(nn.Module, ABC):
    """Adds the positions of tokens to embeddings, or to queries and keys."""

    @abstractmethod
    def forward(
        self, features: Float[Tensor, "*heads seq dim"], positions: Positions = None
    ) -> Float[Tensor, "*heads seq dim"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class Pattern(nn.Module, ABC):
    """Decides which positions attend to which."""

    @abstractmethod
    def forward(self, attention_mask: AttentionMask) -> Bool[Tensor, "batch 1 #seq seq"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class Norm(nn.Module, ABC):
    """Normalises the features of each position."""

    @abstractmethod
    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: AttentionMask
    ) -> Float[Tensor, "batch seq d_model"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class FeedForwardLayer(nn.Module, ABC):
    """Transforms the vector of each position by itself."""

    @abstractmethod
    def forward(self, hidden: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]: ...

    if TYPE_CHECKING:
        __call__ = forward


class Pooling(nn.Module, ABC):
    """Turns the vectors of a text's tokens into one vector for the text."""

    @abstractmethod
    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch features"]: ...

    if TYPE_CHECKING:
        __call__ = forward
