"""Dropout, drawn fast enough not to rule the time of a training step on a CPU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

_LEVELS = 256


def drop_mask(like: Float[Tensor, "*axes"], dropped_levels: int) -> Bool[Tensor, "*axes"]:
    """True with probability 1 − dropped_levels/256, of the shape of `like`, from torch's own random numbers.

    Each 64-bit draw serves eight places: torch's Bernoulli takes one draw per place, one after another.
    """
    draws = torch.empty((like.numel() + 7) // 8, dtype=torch.int64, device=like.device).random_(-(2**63), None)
    return (draws.view(torch.uint8)[: like.numel()] >= dropped_levels).view(like.shape)


class Dropout(nn.Module):
    """In training, sets a share of the features to zero and scales the others up (Srivastava et al. 2014).

    On a CPU the share is `p` rounded to a 256th, and the scale is that of the rounded share, so that the expected
    value is kept exactly. On other devices it is torch's own.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, hidden: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
        if not self.training or self.p == 0:
            return hidden
        if hidden.device.type != "cpu":
            return F.dropout(hidden, self.p)
        dropped = min(round(self.p * _LEVELS), _LEVELS - 1)
        return hidden * drop_mask(hidden, dropped).to(hidden.dtype).mul_(_LEVELS / (_LEVELS - dropped))

    def extra_repr(self) -> str:
        return f"p={self.p}"
