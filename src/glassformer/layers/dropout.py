"""Dropout with a fast random mask: on a CPU, drawing torch's own mask takes much of the time of a training step."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

_LEVELS = 256


def drop_mask(like: Float[Tensor, "*axes"], dropped_levels: int) -> Bool[Tensor, "*axes"]:
    """Draw a mask of the shape of `like`: each value is True with probability 1 − dropped_levels/256.

    The numbers come from torch's random generator. Each 64-bit number serves eight values; torch's Bernoulli draws a
    number for every value, one after another.
    """
    draws = torch.empty((like.numel() + 7) // 8, dtype=torch.int64, device=like.device).random_(-(2**63), None)
    return (draws.view(torch.uint8)[: like.numel()] >= dropped_levels).view(like.shape)


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
        kept = drop_mask(hidden, dropped).view(torch.uint8)  # converts several times faster than bool
        return hidden * kept.to(hidden.dtype).mul_(_LEVELS / (_LEVELS - dropped))

    def extra_repr(self) -> str:
        return f"p={self.p}"
