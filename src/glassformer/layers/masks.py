"""Which positions may look at which.

A mask is boolean and **True means attend**. `attention_mask` has shape (batch, seq) and is False on padding; or, where
a row holds several documents, (batch, query, key) and is False between documents. A *pattern* turns it into the mask
over scores, broadcastable to (batch, heads, query, key). Every row holds at least one token: attention over nothing and
the average of nothing are undefined.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from glassformer.layers.slots import AttentionMask, Pattern


def lengths_to_mask(lengths: Int[Tensor, " batch"], seq: int) -> Bool[Tensor, "batch seq"]:
    """True on the first `lengths[i]` positions of row i."""
    return torch.arange(seq, device=lengths.device) < lengths[:, None]


def documents_to_mask(documents: Int[Tensor, "batch seq"]) -> Bool[Tensor, "batch seq seq"]:
    """True between places of the same document, of which each place says its number."""
    return documents[:, :, None] == documents[:, None, :]


class FullPattern(Pattern):
    """Every position looks at every token that is not padding."""

    def forward(self, attention_mask: AttentionMask) -> Bool[Tensor, "batch 1 #seq seq"]:
        return _by_query(attention_mask)


class CausalPattern(Pattern):
    """A position looks at itself and at the tokens before it.

    A position always sees itself, so that a row of padding on the left leaves no query without a key (its softmax
    would be 0/0).
    """

    def forward(self, attention_mask: AttentionMask) -> Bool[Tensor, "batch 1 seq seq"]:
        seq = attention_mask.shape[1]
        ones = torch.ones(seq, seq, dtype=torch.bool, device=attention_mask.device)
        return (ones.tril() & _by_query(attention_mask)) | torch.eye(seq, dtype=torch.bool, device=ones.device)


class LocalPattern(Pattern):
    """A position looks at the tokens that are at most `reach` places away, on either side (Beltagy et al. 2020, §3.1).

    A position always sees itself, as in `CausalPattern`: far out in the padding there is no token within reach.
    """

    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach = reach

    def forward(self, attention_mask: AttentionMask) -> Bool[Tensor, "batch 1 seq seq"]:
        places = torch.arange(attention_mask.shape[1], device=attention_mask.device)
        distance = (places[:, None] - places).abs()
        return ((distance <= self.reach) & _by_query(attention_mask)) | (distance == 0)


def _by_query(attention_mask: AttentionMask) -> Bool[Tensor, "batch 1 #seq seq"]:
    return attention_mask[:, None, None, :] if attention_mask.ndim == 2 else attention_mask[:, None]
