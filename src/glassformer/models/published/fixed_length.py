"""The inputs that these designs were printed for: texts without a start token, all of one length."""

from __future__ import annotations

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

N_SPECIAL = 3
"""Padding, unknown and start come before the words of a vocabulary."""


def fixed_length(token_ids: Int[Tensor, "batch seq"], length: int) -> Int[Tensor, "batch length"]:
    """Drop the start token; cut, or pad with id 0, to `length` tokens."""
    words = token_ids[:, 1 : length + 1]
    return F.pad(words, (0, length - words.shape[1]))


def one_hot_words(token_ids: Int[Tensor, "batch seq"], vocab_size: int) -> Float[Tensor, "batch seq words"]:
    """One unit vector per word of the vocabulary; padding and unknown words are zeros."""
    return F.one_hot(token_ids, vocab_size)[:, :, N_SPECIAL:].float()
