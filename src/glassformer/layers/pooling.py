"""One vector for a whole text. Padding never takes part."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from glassformer.layers.slots import Pooling
from glassformer.layers.taps import Tap


class FirstPooling(Pooling):
    """The first token's vector, padding skipped (Devlin et al. 2019, §3)."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        first = attention_mask.int().argmax(dim=1)  # the first of equals
        return hidden[torch.arange(hidden.shape[0], device=hidden.device), first]


class LastPooling(Pooling):
    """The last token's vector, padding skipped: what a causal model has read the whole text for."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        positions = torch.arange(hidden.shape[1], device=hidden.device)
        last = (positions * attention_mask).argmax(dim=1)
        return hidden[torch.arange(hidden.shape[0], device=hidden.device), last]


class MeanPooling(Pooling):
    """The average over the tokens."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        kept = attention_mask[:, :, None].to(hidden.dtype)
        return (hidden * kept).sum(dim=1) / kept.sum(dim=1)


class MaxPooling(Pooling):
    """The largest value of each feature over the tokens."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch d_model"]:
        return hidden.masked_fill(~attention_mask[:, :, None], -math.inf).amax(dim=1)


class AttentionPooling(Pooling):
    """A weighted average whose weights come from one learned query (Yang et al. 2016, eqs. 5–7, no hidden layer).

    The query starts at zero, so that training starts from `MeanPooling`.
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
    """All positions side by side, zeros where there is no token: (batch, max_seq_len·d_model)."""

    def __init__(self, max_seq_len: int) -> None:
        super().__init__()
        self.max_seq_len = max_seq_len

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch features"]:
        kept = hidden * attention_mask[:, :, None]
        return nn.functional.pad(kept, (0, 0, 0, self.max_seq_len - hidden.shape[1])).flatten(1)
