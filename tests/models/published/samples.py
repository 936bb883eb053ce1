"""Batches as training gives them: a start token, words, padding on the right."""

from collections.abc import Sequence

import torch
from torch import Tensor


def batch(*texts: Sequence[int], width: int | None = None) -> tuple[Tensor, Tensor]:
    """Token ids with the start token (2) before each text and padding (0) after it, and the attention mask."""
    seq = width or max(map(len, texts)) + 1
    token_ids = torch.zeros(len(texts), seq, dtype=torch.long)
    mask = torch.zeros(len(texts), seq, dtype=torch.bool)
    for row, text in enumerate(texts):
        token_ids[row, : len(text) + 1] = torch.tensor([2, *text])
        mask[row, : len(text) + 1] = True
    return token_ids, mask
