"""Attention for training in bfloat16 on a CPU, with a backward pass of its own.

There the backward pass of torch's fused kernel takes up to six times as long as the plain path. The plain path computes
the softmax in bfloat16, which is slow unless the row is a multiple of 32 long, and stores every step of it.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable


def bfloat16_attention(
    query: Float[Tensor, "*heads q dim"],
    key: Float[Tensor, "*heads k dim"],
    value: Float[Tensor, "*heads k dim_v"],
    mask: Bool[Tensor, "*#heads #q k"],
) -> Float[Tensor, "*heads q dim_v"]:
    """Compute the same as `plain_attention`: products in the type of the inputs, the softmax in float32, no dropout.

    The backward pass follows from the derivative of the softmax, dS = P ⊗ (dP − rowsum(dP ⊗ P)) (Dao et al. 2022,
    appendix B.2). The inputs and the weights are all that is stored. It has no second derivative.
    """
    result: Tensor = _Attention.apply(query, key, value, mask)
    return result


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
