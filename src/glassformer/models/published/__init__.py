"""Designs of others, as published. Defects are kept; each class names what had to be repaired.

Most read texts of a fixed length without a start token.
"""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

N_SPECIAL = 3
"""A vocabulary begins with three special tokens: padding, unknown and start."""


def fixed_length(token_ids: Int[Tensor, "batch seq"], length: int) -> Int[Tensor, "batch length"]:
    """Drop the start token, then cut the text to `length` tokens or pad it with id 0."""
    words = token_ids[:, 1 : length + 1]
    return F.pad(words, (0, length - words.shape[1]))


def one_hot_words(token_ids: Int[Tensor, "batch seq"], vocab_size: int) -> Float[Tensor, "batch seq words"]:
    """Turn each word into its unit vector. Padding and unknown words become zeros."""
    return F.one_hot(token_ids, vocab_size)[:, :, N_SPECIAL:].float()
