"""What a model makes of texts: the vectors behind its last block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from glassformer.data.batches import covering_batches
from glassformer.data.store import IntArray, TokenStore
from glassformer.models.trunk import Trunk

Vectors = np.ndarray[Any, np.dtype[np.float64]]

_BATCH_TOKENS, _BATCH_SIZE = 16_384, 256


class _Reading(nn.Module):
    """A trunk without what stands behind it, as a module that can be called with other weights."""

    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.trunk = trunk

    def forward(self, token_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.trunk.read(token_ids, attention_mask)


@torch.inference_mode()
def context_vectors(
    model: Trunk, rows: Sequence[IntArray], embeddings: Float[Tensor, "vocab d_model"], *, max_seq_len: int
) -> Vectors:
    """The mean over each row's tokens, the start token left out, of the last hidden states (rows, d_model).

    Of a row that takes several windows, a token in two of them counts twice; an empty row has zeros.

    Args:
        model: in evaluation mode.
        rows: token ids.
        embeddings: what the model reads them with in place of its own table; it may have more rows.
    """
    reading = _Reading(model)
    totals = np.zeros((len(rows), embeddings.shape[1]))
    counts = np.zeros((len(rows), 1))
    store = TokenStore.in_memory(list(rows))
    for batch in covering_batches(store, max_seq_len, batch_tokens=_BATCH_TOKENS, batch_size=_BATCH_SIZE):
        inputs = (batch.token_ids, batch.attention_mask)
        hidden = functional_call(reading, {"trunk.embedding.weight": embeddings}, inputs)
        read = batch.attention_mask[:, 1:, None].double()
        np.add.at(totals, batch.rows, (hidden[:, 1:].double() * read).sum(dim=1).numpy())
        np.add.at(counts, batch.rows, read.sum(dim=1).numpy())
    return totals / np.maximum(counts, 1)
