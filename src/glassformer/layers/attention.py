"""Scaled dot-product and multi-head attention.

Several kernels compute the same thing. `plain_attention` computes it step by step. `fused_attention` calls torch's own
kernel, which does not return scores and weights. If a tap listens to these, attention is computed step by step. Models
use `fastest_attention`, which takes whichever kernel is the fastest.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from glassformer.layers.cache import KeyValueCache
from glassformer.layers.linear import Linear
from glassformer.layers.slots import AttentionMask, Pattern, PositionLayer, Positions
from glassformer.layers.taps import Tap

Kernel = Callable[[Tensor, Tensor, Tensor, Tensor, float], Tensor]

_LONGEST_SHORT, _LONGEST_PLAIN = 64, 1024


def attention_scores(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    mask: Bool[Tensor, "*#heads #q k"],
) -> Float[Tensor, "*heads q k"]:
    """Return QKᵀ/√dim (Vaswani et al. 2017, eq. 1), and −∞ where the mask is False."""
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).masked_fill(~mask, -math.inf)


def attention_weights(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    mask: Bool[Tensor, "*#heads #q k"],
) -> Float[Tensor, "*heads q k"]:
    """Return the softmax of the scores over the keys that the mask allows. Rows sum to 1."""
    return attention_scores(query, key, mask).softmax(dim=-1)


def plain_attention(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    value: Float[Tensor, "*heads k dim_v"],
    mask: Bool[Tensor, "*#heads #q k"],
    dropout: float = 0.0,
) -> Float[Tensor, "*heads q dim_v"]:
    """Return attention weights times values: the reference implementation.

    Each weight is dropped with probability `dropout`.
    """
    return F.dropout(attention_weights(query, key, mask), dropout) @ value


def fused_attention(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    value: Float[Tensor, "*heads k dim_v"],
    mask: Bool[Tensor, "*#heads #q k"],
    dropout: float = 0.0,
) -> Float[Tensor, "*heads q dim_v"]:
    """Compute the same as `plain_attention`, faster and without storing the weights (Dao et al. 2022)."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def fastest_attention(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    value: Float[Tensor, "*heads k dim_v"],
    mask: Bool[Tensor, "*#heads #q k"],
    dropout: float = 0.0,
) -> Float[Tensor, "*heads q dim_v"]:
    """Compute the same with the fused kernel, or in another way where that is faster.

    In training on a CPU, `short_attention` is the fastest up to `_LONGEST_SHORT` keys. Beyond them the fused kernel is,
    but in bfloat16 its backward pass in torch 2.13 takes up to twenty times as long as the plain path. Beyond
    `_LONGEST_PLAIN` keys the stored weights would take too much memory.
    """
    training = query.requires_grad and query.device.type == "cpu" and query.dtype in (torch.bfloat16, torch.float32)
    is_short = key.shape[-2] <= _LONGEST_SHORT
    slow = query.dtype == torch.bfloat16 and key.shape[-2] <= _LONGEST_PLAIN
    if not training or not (is_short or slow):
        return fused_attention(query, key, value, mask, dropout)
    if not is_short or dropout or torch.compiler.is_compiling():
        return plain_attention(query, key, value, mask, dropout)
    return short_attention(query, key, value, mask)


class MultiHeadAttention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, §3.2.2).

    Each head has its own projections. The results of all heads are concatenated and projected.

    Args:
        pattern: which tokens each token attends to, for example `FullPattern()` or `CausalPattern()`.
        rotation: what is applied to queries and keys, `Rotary(...)` or `NoPositions()`.

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
        kernel: Kernel = fastest_attention,
    ) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model must be a multiple of n_heads, got d_model={d_model}, n_heads={n_heads}")
        self.n_heads = n_heads
        self.pattern, self.rotation, self.kernel = pattern, rotation, kernel
        self.dropout = dropout
        self.in_projection = Linear(d_model, 3 * d_model, bias=bias)  # query, key and value in one product
        self.out_projection = Linear(d_model, d_model, bias=bias)
        self.tap_query, self.tap_key, self.tap_value = Tap(), Tap(), Tap()
        self.tap_scores, self.tap_weights, self.tap_heads, self.tap_output = Tap(), Tap(), Tap(), Tap()

    def query_key_value(
        self, hidden: Float[Tensor, "batch seq d_model"], positions: Positions = None
    ) -> tuple[
        Float[Tensor, "batch heads seq dim"], Float[Tensor, "batch heads seq dim"], Float[Tensor, "batch heads seq dim"]
    ]:
        """Project, split into heads, and rotate queries and keys by their positions."""
        batch, seq, _ = hidden.shape
        projected = self.in_projection(hidden).view(batch, seq, 3 * self.n_heads, -1).transpose(1, 2)
        both, value = projected.split((2 * self.n_heads, self.n_heads), dim=1)  # (batch, …heads, seq, head_dim)
        query, key = self.rotation(both, positions).chunk(2, dim=1)
        return query, key, value

    def forward(
        self,
        hidden: Float[Tensor, "batch seq d_model"],
        attention_mask: AttentionMask,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Return the result of attention for each token.

        With a cache, `hidden` holds only the next tokens. They attend to themselves and to all tokens before them; the
        pattern is not used.
        """
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
        """Return the average of the values for each head and query; use the kernel unless a tap listens to a step."""
        dropout = self.dropout if self.training else 0.0
        if not (self.tap_scores.heard or self.tap_weights.heard):
            return self.kernel(query, key, value, mask, dropout)
        scores = self.tap_scores(attention_scores(query, key, mask))
        weights = self.tap_weights(scores.softmax(dim=-1))
        return F.dropout(weights, dropout) @ value


def short_attention(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    value: Float[Tensor, "*heads k dim_v"],
    mask: Bool[Tensor, "*#heads #q k"],
) -> Float[Tensor, "*heads q dim_v"]:
    """Compute the same as `plain_attention`: products in the type of the inputs, the softmax in float32, no dropout.

    It is for short texts. A softmax in bfloat16, as in the plain path, is slow unless a row is a multiple of 32 long.

    The backward pass follows from the derivative of the softmax, dS = P ⊗ (dP − rowsum(dP ⊗ P)) (Dao et al. 2022,
    appendix B.2). The inputs and the weights are all that is stored. It has no second derivative.
    """
    return _Attention.apply(query, key, value, mask)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        hidden = torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, -math.inf)
        ctx.scale = 1 / math.sqrt(query.shape[-1])
        scores = (query @ key.transpose(-2, -1)).float().mul_(ctx.scale).add_(hidden)
        weights = scores.softmax(dim=-1).to(query.dtype)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, key, value, weights = ctx.saved_tensors
        of_value = weights.transpose(-2, -1) @ grad
        p = weights.float()
        of_scores = (grad @ value.transpose(-2, -1)).float()
        of_scores.sub_((of_scores * p).sum(dim=-1, keepdim=True)).mul_(p).mul_(ctx.scale)
        of_scores = of_scores.to(query.dtype)
        return of_scores @ key, of_scores.transpose(-2, -1) @ query, of_value, None
