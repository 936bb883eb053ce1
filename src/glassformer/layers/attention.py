"""Scaled dot-product and multi-head attention.

Two kernels compute the same thing: `plain_attention` spells it out, for the tests; `fused_attention` is torch's own and
is what a model runs. It keeps scores and weights to itself: while somebody listens to them, they are spelled out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from glassformer.layers.cache import KeyValueCache
from glassformer.layers.slots import AttentionMask, Pattern, PositionLayer, Positions
from glassformer.layers.taps import Tap

Kernel = Callable[[Tensor, Tensor, Tensor, Tensor, float], Tensor]


def attention_scores(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    mask: Bool[Tensor, "*#heads #q k"],
) -> Float[Tensor, "*heads q k"]:
    """QKᵀ/√dim (Vaswani et al. 2017, eq. 1), −∞ where the mask forbids."""
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).masked_fill(~mask, -math.inf)


def attention_weights(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    mask: Bool[Tensor, "*#heads #q k"],
) -> Float[Tensor, "*heads q k"]:
    """softmax over the keys of the scores: rows sum to 1."""
    return attention_scores(query, key, mask).softmax(dim=-1)


def plain_attention(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    value: Float[Tensor, "*heads k dim_v"],
    mask: Bool[Tensor, "*#heads #q k"],
    dropout: float = 0.0,
) -> Float[Tensor, "*heads q dim_v"]:
    """The reference path: weights, dropped out with probability `dropout`, times values."""
    return F.dropout(attention_weights(query, key, mask), dropout) @ value


def fused_attention(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    value: Float[Tensor, "*heads k dim_v"],
    mask: Bool[Tensor, "*#heads #q k"],
    dropout: float = 0.0,
) -> Float[Tensor, "*heads q dim_v"]:
    """The fast path: `plain_attention` without keeping the weights (Dao et al. 2022)."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


class MultiHeadAttention(nn.Module):
    """Every head attends in a space of its own; their results are joined and projected (Vaswani et al. 2017, §3.2.2).

    Args:
        d_model: width in and out.
        n_heads: heads, each `d_model / n_heads` wide.
        pattern: who may look at whom, `FullPattern()` or `CausalPattern()`.
        rotation: applied to queries and keys, `Rotary(...)` or `NoPositions()`.
        dropout: share of attention weights dropped in training.
        bias: whether the projections add one.
        kernel: `fused_attention` or `plain_attention`.

    Raises:
        ValueError: d_model is not a multiple of n_heads.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        pattern: Pattern,
        rotation: PositionLayer,
        dropout: float = 0.0,
        bias: bool = False,
        kernel: Kernel = fused_attention,
    ) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got d_model={d_model}, n_heads={n_heads}")
        self.n_heads = n_heads
        self.pattern, self.rotation, self.kernel = pattern, rotation, kernel
        self.dropout = dropout
        self.in_projection = nn.Linear(d_model, 3 * d_model, bias=bias)  # query, key and value in one product
        self.out_projection = nn.Linear(d_model, d_model, bias=bias)
        self.tap_query, self.tap_key, self.tap_value = Tap(), Tap(), Tap()
        self.tap_scores, self.tap_weights, self.tap_heads, self.tap_output = Tap(), Tap(), Tap(), Tap()

    def query_key_value(
        self, hidden: Float[Tensor, "batch seq d_model"], positions: Positions = None
    ) -> tuple[
        Float[Tensor, "batch heads seq dim"], Float[Tensor, "batch heads seq dim"], Float[Tensor, "batch heads seq dim"]
    ]:
        """Project, split into heads, and turn queries and keys by their positions."""
        batch, seq, _ = hidden.shape
        projected = self.in_projection(hidden).view(batch, seq, 3, self.n_heads, -1)
        query, key, value = projected.permute(2, 0, 3, 1, 4)  # 3 × (batch, heads, seq, head_dim)
        return self.rotation(query, positions), self.rotation(key, positions), value

    def forward(
        self,
        hidden: Float[Tensor, "batch seq d_model"],
        attention_mask: AttentionMask,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """With a cache, `hidden` is of the next tokens alone, which look at those before them without the pattern."""
        if cache is None:
            query, key, value = self.query_key_value(hidden)
            mask = self.pattern(attention_mask)
        else:
            query, key, value = self.query_key_value(hidden, cache.positions(hidden.shape[1]))
            key, value, mask = cache.extend(key, value, attention_mask)
        mixed = self.tap_heads(self._mix(self.tap_query(query), self.tap_key(key), self.tap_value(value), mask))
        return self.tap_output(self.out_projection(mixed.transpose(1, 2).flatten(2)))  # (batch, seq, heads·head_dim)

    def _mix(
        self,
        query: Float[Tensor, "batch heads q dim"],
        key: Float[Tensor, "batch heads k dim"],
        value: Float[Tensor, "batch heads k dim"],
        mask: Bool[Tensor, "*#heads #q k"],
    ) -> Float[Tensor, "batch heads q dim"]:
        """For each head and query the average of the values, by the kernel or, where somebody listens, step by step."""
        dropout = self.dropout if self.training else 0.0
        if not (self.tap_scores.heard or self.tap_weights.heard):
            return self.kernel(query, key, value, mask, dropout)
        scores = self.tap_scores(attention_scores(query, key, mask))
        weights = self.tap_weights(scores.softmax(dim=-1))
        return F.dropout(weights, dropout) @ value
