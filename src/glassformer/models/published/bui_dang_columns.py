"""`bui-dang-columns`: the earlier version of "Transformers from Scratch with Pytorch" (2023). Columns are words.

One-hot words + sinusoidal positions → attention over *features* → residual addition, z-score over the columns, Γ₁ →
a feed-forward of one matrix with a residual of another → z-score, Γ₂ → two classes.

Unusual, and kept:
- Q Kᵀ is (heads·hidden)²: features attend to features, "causally" by their index.
- The mask is added before the division, and softmax runs over columns.
- All matrices start between 0 and .001, so attention starts uniform. One bias starts between 0 and 1; the document
  gives no reason.
- The z-score has no ε. A constant row gives 0/0, and training is chaotic.
- The loss is binary cross entropy with logits, but it gets probabilities (`training.loss = "bce-on-probabilities"`).

Repaired: each sentence gets an update. The printed loop is indented wrongly. It updates once per epoch, and training
ends at the majority class.

Changed without a change of meaning: sentences come in batches (a batch may hold one), and the model returns the logits
before the last softmax.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.layers.positions import sinusoidal_table
from glassformer.layers.taps import Tap
from glassformer.models.bounds import Width, Window
from glassformer.models.model_config import DesignConfig, how_many
from glassformer.models.published.fixed_length import N_SPECIAL, fixed_length, one_hot_words


class BuiDangColumnsConfig(DesignConfig):
    design: Literal["bui-dang-columns"] = "bui-dang-columns"
    max_seq_len: Window = 11
    """T = 10 words and the start token, which is dropped."""
    hidden: Width = 64
    n_heads: Width = 2

    def in_words(self) -> str:
        return f"Bui & Dang by columns, hidden {self.hidden}, {how_many(self.n_heads, 'head')}"


class BuiDangColumns(nn.Module):
    """Columns are words. With T = 10, d = 18 words, hidden 64 and 2 heads: 17,350 parameters."""

    mask: Tensor
    positions: Tensor

    def __init__(self, config: BuiDangColumnsConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        T, d, h = config.max_seq_len - 1, vocab_size - N_SPECIAL, config.hidden  # noqa: N806 (the document's name)
        wide = config.n_heads * h
        self.length, self.vocab_size = T, vocab_size
        self.Wq, self.Wk, self.Wv = _matrix(wide, d), _matrix(wide, d), _matrix(wide, d)
        self.Wo = _matrix(h, wide)
        self.Wnorm_self, self.bnorm_self = _matrix(h, d), nn.Parameter(torch.zeros(h, 1))
        self.gamma_self, self.beta_self = _matrix(T, h), nn.Parameter(torch.zeros(h, 1))
        self.Wf, self.bf = _matrix(n_classes, h), nn.Parameter(torch.zeros(n_classes, 1))
        self.Wnorm_feed, self.bnorm_feed = _matrix(n_classes, h), nn.Parameter(torch.rand(n_classes, 1))
        self.gamma_feed, self.beta_feed = _matrix(h, 1), nn.Parameter(torch.zeros(n_classes, 1))
        self.register_buffer("mask", torch.full((wide, wide), -math.inf).triu(1), persistent=False)
        self.register_buffer("positions", sinusoidal_table(T, d).T, persistent=False)
        self.tap_words, self.tap_queries, self.tap_keys, self.tap_values = Tap(), Tap(), Tap(), Tap()
        self.tap_scores, self.tap_weights, self.tap_mixed, self.tap_attended = Tap(), Tap(), Tap(), Tap()
        self.tap_residual, self.tap_after_attention = Tap(), Tap()
        self.tap_standardised, self.tap_normed = Tap(), Tap()
        self.tap_feed_forward, self.tap_rectified, self.tap_feed_residual = Tap(), Tap(), Tap()
        self.tap_after_feed_forward, self.tap_feed_standardised, self.tap_column = Tap(), Tap(), Tap()

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], _attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        one_hot = one_hot_words(fixed_length(token_ids, self.length), self.vocab_size)
        words = self.tap_words(one_hot.transpose(1, 2) + self.positions)  # (batch, d, T)
        query, key = self.tap_queries(self.Wq @ words), self.tap_keys(self.Wk @ words)  # (batch, heads·h, T)
        scores = self.tap_scores((query @ key.transpose(1, 2) + self.mask) / math.sqrt(query.shape[1]))
        mixed = self.tap_mixed(self.tap_weights(scores.softmax(1)) @ self.tap_values(self.Wv @ words))
        attention = self.tap_attended(self.Wo @ mixed)  # (batch, h, T)
        residual = self.tap_residual(self.Wnorm_self @ words)
        standardised = self.tap_standardised(z_score(self.tap_after_attention(attention + residual + self.bnorm_self)))
        normed = self.tap_normed(standardised @ self.gamma_self + self.beta_self)  # (batch, h, h)
        fed = self.tap_rectified(self.tap_feed_forward(self.Wf @ normed + self.bf).relu())  # (batch, 2, h)
        feed_residual = self.tap_feed_residual(self.Wnorm_feed @ normed)
        feed_standardised = self.tap_feed_standardised(
            z_score(self.tap_after_feed_forward(fed + feed_residual + self.bnorm_feed))
        )
        return self.tap_column(feed_standardised @ self.gamma_feed + self.beta_feed).squeeze(2)


def z_score(matrix: Float[Tensor, "batch rows columns"]) -> Float[Tensor, "batch rows columns"]:
    """Return (x − mean) / sample deviation of each row, without ε: ±.7071 for two columns, NaN if they are equal."""
    return (matrix - matrix.mean(-1, keepdim=True)) / matrix.std(-1, keepdim=True)


def _matrix(n_rows: int, n_columns: int) -> nn.Parameter:
    return nn.Parameter(torch.rand(n_rows, n_columns) / 1000)
