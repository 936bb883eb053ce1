"""Masks: which positions attend to which.

A mask is boolean and **True means attend**. `attention_mask` has the shape (batch, seq) and is False on padding. If
rows hold several documents, it has the shape (batch, query, key) and is False between documents.

A *pattern* turns the attention mask into the mask over scores, broadcastable to (batch, heads, query, key).

Every row must hold at least one token: attention and averages over no tokens are undefined.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from glassformer.layers.slots import AttentionMask, Pattern


def lengths_to_mask(lengths: Int[Tensor, " batch"], seq: int) -> Bool[Tensor, "batch seq"]:
    """Return a mask that is True on the first `lengths[i]` positions of row i."""
    return torch.arange(seq, device=lengths.device) < lengths[:, None]


def documents_to_mask(documents: Int[Tensor, "batch seq"]) -> Bool[Tensor, "batch seq seq"]:
    """Return a mask that is True between positions of the same document; `documents` numbers the document of each."""
    return documents[:, :, None] == documents[:, None, :]


class FullPattern(Pattern):
    """Every position attends to every token that is not padding."""

    def forward(self, attention_mask: AttentionMask) -> Bool[Tensor, "batch 1 #seq seq"]:
        return _by_query(attention_mask)


class CausalPattern(Pattern):
    """A position attends to itself and to the tokens before it.

    Padding attends to itself too. With padding on the left, a query would otherwise have no key, and its softmax would
    be 0/0.
    """

    def forward(self, attention_mask: AttentionMask) -> Bool[Tensor, "batch 1 seq seq"]:
        seq = attention_mask.shape[1]
        ones = torch.ones(seq, seq, dtype=torch.bool, device=attention_mask.device)
        return (ones.tril() & _by_query(attention_mask)) | torch.eye(seq, dtype=torch.bool, device=ones.device)


class LocalPattern(Pattern):
    """A position attends to the tokens at most `reach` positions away, on either side (Beltagy et al. 2020, §3.1).

    Padding attends to itself too, as in `CausalPattern`: it may have no token within reach.
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
