"""Poolings: they turn the vectors of a text's tokens into one vector for the text. Padding is left out."""

import math
from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from glassformer.layers.slots import Pooling
from glassformer.layers.taps import Tap


class FirstPooling(Pooling):
    """Takes the vector of the first token that is not padding (Devlin et al. 2019, §3)."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        first = attention_mask.int().argmax(dim=1)  # the first of equals
        return hidden[torch.arange(hidden.shape[0], device=hidden.device), first]


class LastPooling(Pooling):
    """Takes the vector of the last token that is not padding. In a causal model only this token sees the whole text."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        positions = torch.arange(hidden.shape[1], device=hidden.device)
        last = (positions * attention_mask).argmax(dim=1)
        return hidden[torch.arange(hidden.shape[0], device=hidden.device), last]


class MeanPooling(Pooling):
    """Takes the mean over the tokens."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        kept = attention_mask[:, :, None].to(hidden.dtype)
        return (hidden * kept).sum(dim=1) / kept.sum(dim=1)


class MaxPooling(Pooling):
    """Takes the largest value of each feature over the tokens."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        return hidden.masked_fill(~attention_mask[:, :, None], -math.inf).amax(dim=1)


class RootPooling(Pooling):
    """Takes the sum over the tokens, divided by the root of their number."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        kept = attention_mask[:, :, None].to(hidden.dtype)
        return (hidden * kept).sum(dim=1) / kept.sum(dim=1).sqrt()


class JoinedPooling(Pooling):
    """Concatenates the vectors of several poolings."""

    def __init__(self, poolings: Iterable[Pooling]) -> None:
        super().__init__()
        self.poolings = nn.ModuleList(poolings)

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch features"]:
        return torch.cat([pooling(hidden, attention_mask) for pooling in self.poolings], dim=1)


class AttentionPooling(Pooling):
    """Takes a weighted mean; one learned query gives the weights (Yang et al. 2016, eqs. 5–7, without hidden layer).

    The query starts at zero, which makes this `MeanPooling` before training.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(d_model))
        self.tap_scores, self.tap_weights = Tap(), Tap()

    def weights(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch seq"]:
        scores = hidden @ self.query / math.sqrt(hidden.shape[-1])
        scores = self.tap_scores(scores.masked_fill(~attention_mask, -math.inf))
        return self.tap_weights(scores.softmax(dim=1))

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        return (self.weights(hidden, attention_mask)[:, :, None] * hidden).sum(dim=1)


class FlattenPooling(Pooling):
    """Concatenates the vectors of all positions, with zeros for padding: (batch, max_seq_len·d_model)."""

    def __init__(self, max_seq_len: int) -> None:
        super().__init__()
        self.max_seq_len = max_seq_len

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch features"]:
        kept = hidden * attention_mask[:, :, None]
        return nn.functional.pad(kept, (0, 0, 0, self.max_seq_len - hidden.shape[1])).flatten(1)
