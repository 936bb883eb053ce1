"""Dropout with a fast random mask: on a CPU, drawing torch's own mask takes much of the time of a training step."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor, nn

_LEVELS = 256


def drop_mask(like: Float[Tensor, "*axes"], dropped_levels: int) -> UInt8[Tensor, "*axes"]:
    """Draw a mask of the shape of `like`: each value is 1 with probability 1 − dropped_levels/256, and else 0.

    Args:
        dropped_levels: 1 … 255

    The numbers come from torch's random generator. Each 64-bit number serves eight values; torch's Bernoulli draws a
    number for every value, one after another.
    """
    draws = torch.empty((like.numel() + 7) // 8, dtype=torch.int64, device=like.device).random_(-(2**63), None)
    levels = draws.view(torch.uint8)[: like.numel()].view(like.shape)
    # Several times as fast as `>=`, and bytes become other numbers several times as fast as bools.
    return levels.clamp_(dropped_levels - 1, dropped_levels).sub_(dropped_levels - 1)


class Dropout(nn.Module):
    """In training, sets a share of the features to zero and scales the others up (Srivastava et al. 2014).

    On a CPU the share is `p` rounded to a 256th. The scale follows from the rounded share, which keeps the expected
    value exact. On other devices this is torch's own dropout.
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
        if dropped == 0:
            return hidden
        kept = drop_mask(hidden, dropped)
        return hidden * kept.to(hidden.dtype).mul_(_LEVELS / (_LEVELS - dropped))

    def extra_repr(self) -> str:
        return f"p={self.p}"
