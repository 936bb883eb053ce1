"""Phuoc Bui and Thuong Dang, "Transformers from Scratch with Pytorch" (2023): words are rows, or columns.

Changed in both without a change of meaning: sentences come in batches (a batch may hold one), and the model returns the
logits before the last softmax.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.layers.positions import sinusoidal_table
from glassformer.layers.taps import Tap
from glassformer.models.model_config import DesignConfig, Width, Window, how_many
from glassformer.models.published import N_SPECIAL, fixed_length, one_hot_words


class BuiDangRowsConfig(DesignConfig):
    design: Literal["bui-dang-rows"] = "bui-dang-rows"
    max_seq_len: Window = 11
    """T = 10 words and the start token, which is dropped."""
    hidden: Width = 18
    n_heads: Width = 2

    def in_words(self) -> str:
        kind = self.design.removeprefix("bui-dang-")
        return f"Bui & Dang by {kind}, hidden {self.hidden}, {how_many(self.n_heads, 'head')}"


class BuiDangRows(nn.Module):
    """`bui-dang-rows`: rows are words.

    One-hot words + sinusoidal positions → two causal heads → softmax of [attention ; input] Γ₁ as "normalisation" → a
    feed-forward over *positions* → its two rows above the others, Γ₂, softmax again → one weight per row → two classes.

    Unusual, and kept:
    - Softmax stands where a norm is meant. β₁, β₂ and b_l then have no effect and get no gradient.
    - Scores are divided by √T; the text says √d.
    - There is no padding mask.

    Repaired: the mask is T×T. The text prints (heads·hidden)², which cannot be added to the scores.
    Changed: an unknown word is a row of zeros; the document's program refuses it.

    With T = 10, d = 18 words, hidden 18 and 2 heads: 3,333 parameters.
    """

    mask: Tensor
    positions: Tensor

    def __init__(self, config: BuiDangRowsConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        T, d, h = config.max_seq_len - 1, vocab_size - N_SPECIAL, config.hidden  # noqa: N806 (the document's name)
        self.length, self.vocab_size = T, vocab_size
        self.Wq, self.Wk, self.Wv = (_heads(config.n_heads, d, h) for _ in "qkv")
        self.Wo = _xavier(config.n_heads * h, h)
        self.gamma_self, self.beta_self = _xavier(d + h, h), nn.Parameter(torch.zeros(T, 1))
        self.Wf, self.bf = _xavier(n_classes, T), nn.Parameter(torch.zeros(n_classes, 1))
        self.gamma_feed, self.beta_feed = _xavier(h, n_classes), nn.Parameter(torch.zeros(T + n_classes, 1))
        self.Wl, self.bl = _xavier(1, T + n_classes), nn.Parameter(torch.zeros(1, 1))
        self.register_buffer("mask", torch.full((T, T), -math.inf).triu(1), persistent=False)
        self.register_buffer("positions", sinusoidal_table(T, d), persistent=False)
        self.heads = nn.ModuleList(_HeadTaps() for _ in range(config.n_heads))
        self.tap_words, self.tap_attended, self.tap_norm_sum, self.tap_normed = Tap(), Tap(), Tap(), Tap()
        self.tap_over_positions, self.tap_rectified, self.tap_rows_sum = Tap(), Tap(), Tap()
        self.tap_rows, self.tap_row = Tap(), Tap()

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], _attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        one_hot = one_hot_words(fixed_length(token_ids, self.length), self.vocab_size)
        words = self.tap_words(one_hot + self.positions)  # (batch, T, d)
        of_heads = zip(self.heads, self.Wq, self.Wk, self.Wv, strict=True)
        heads = [self._head(taps, words, *weights) for taps, *weights in of_heads]
        attention = self.tap_attended(torch.cat(heads, dim=-1) @ self.Wo)
        norm_sum = self.tap_norm_sum(torch.cat([attention, words], dim=-1) @ self.gamma_self + self.beta_self)
        normed = self.tap_normed(norm_sum.softmax(-1))  # (batch, T, h)
        over_positions = self.tap_over_positions(self.Wf @ normed + self.bf)  # (batch, 2, h)
        fed = self.tap_rectified(over_positions.relu())
        rows_sum = self.tap_rows_sum(torch.cat([fed, normed], dim=1) @ self.gamma_feed + self.beta_feed)
        rows = self.tap_rows(rows_sum.softmax(-1))
        return self.tap_row(self.Wl @ rows + self.bl).squeeze(1)

    def _head(self, taps: nn.Module, words: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        assert isinstance(taps, _HeadTaps)
        queries, keys = taps.tap_query(words @ query), taps.tap_key(words @ key)
        scores = taps.tap_scores(queries @ keys.transpose(1, 2) / math.sqrt(self.length) + self.mask)
        return taps.tap_mixed(taps.tap_weights(scores.softmax(-1)) @ taps.tap_value(words @ value))


class _HeadTaps(nn.Module):
    """The taps of a head. Its weights belong to the model."""

    def __init__(self) -> None:
        super().__init__()
        self.tap_query, self.tap_key, self.tap_value = Tap(), Tap(), Tap()
        self.tap_scores, self.tap_weights, self.tap_mixed = Tap(), Tap(), Tap()


def _xavier(n_rows: int, n_columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_normal_(torch.empty(n_rows, n_columns)))


def _heads(n_heads: int, n_rows: int, n_columns: int) -> nn.ParameterList:
    return nn.ParameterList(_xavier(n_rows, n_columns) for _ in range(n_heads))


class BuiDangColumnsConfig(BuiDangRowsConfig):
    design: Literal["bui-dang-columns"] = "bui-dang-columns"  # type: ignore[assignment]
    hidden: Width = 64


class BuiDangColumns(nn.Module):
    """`bui-dang-columns`, the earlier version: columns are words.

    One-hot words + sinusoidal positions → attention over *features* → residual addition, z-score over the columns, Γ₁ →
    a feed-forward of one matrix with a residual of another → z-score, Γ₂ → two classes.

    Unusual, and kept:
    - Q Kᵀ is (heads·hidden)²: features attend to features, "causally" by their index.
    - The mask is added before the division, and softmax runs over columns.
    - All matrices start between 0 and .001, so attention starts uniform. One bias starts between 0 and 1; the document
      gives no reason.
    - The z-score has no ε. A constant row gives 0/0, and training is chaotic.
    - The loss is binary cross entropy with logits, but it gets probabilities
      (`training.loss = "bce-on-probabilities"`).

    Repaired: each sentence gets an update. The printed loop is indented wrongly. It updates once per epoch, and
    training ends at the majority class.

    With T = 10, d = 18 words, hidden 64 and 2 heads: 17,350 parameters.
    """

    mask: Tensor
    positions: Tensor

    def __init__(self, config: BuiDangColumnsConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        T, d, h = config.max_seq_len - 1, vocab_size - N_SPECIAL, config.hidden  # noqa: N806 (the document's name)
        wide = config.n_heads * h
        self.length, self.vocab_size = T, vocab_size
        self.Wq, self.Wk, self.Wv = _small(wide, d), _small(wide, d), _small(wide, d)
        self.Wo = _small(h, wide)
        self.Wnorm_self, self.bnorm_self = _small(h, d), nn.Parameter(torch.zeros(h, 1))
        self.gamma_self, self.beta_self = _small(T, h), nn.Parameter(torch.zeros(h, 1))
        self.Wf, self.bf = _small(n_classes, h), nn.Parameter(torch.zeros(n_classes, 1))
        self.Wnorm_feed, self.bnorm_feed = _small(n_classes, h), nn.Parameter(torch.rand(n_classes, 1))
        self.gamma_feed, self.beta_feed = _small(h, 1), nn.Parameter(torch.zeros(n_classes, 1))
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


def _small(n_rows: int, n_columns: int) -> nn.Parameter:
    return nn.Parameter(torch.rand(n_rows, n_columns) / 1000)
