"""What a model makes of texts: the vectors behind its last block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from glassformer.data.batches import covering_batches
from glassformer.data.store import IntArray, TokenStore
from glassformer.models.classifier import Trunk

Vectors = np.ndarray[Any, np.dtype[np.float64]]

_BATCH_TOKENS, _BATCH_SIZE = 16_384, 256


@torch.inference_mode()
def context_vectors(
    trunk: Trunk, rows: Sequence[IntArray], embeddings: Float[Tensor, "vocab d_model"], *, max_seq_len: int
) -> Vectors:
    """The mean over each row's tokens, the start token left out, of the last hidden states (rows, d_model).

    Of a row that takes several windows, a token in two of them counts twice; an empty row has zeros.

    Args:
        trunk: in evaluation mode.
        rows: token ids.
        embeddings: what the model reads them with in place of its own table; it may have more rows.
    """
    totals = np.zeros((len(rows), embeddings.shape[1]))
    counts = np.zeros((len(rows), 1))
    store = TokenStore.in_memory(list(rows))
    for batch in covering_batches(store, max_seq_len, batch_tokens=_BATCH_TOKENS, batch_size=_BATCH_SIZE):
        hidden = trunk.read_vectors(F.embedding(batch.token_ids, embeddings), batch.attention_mask)
        read = batch.attention_mask[:, 1:, None].double()
        np.add.at(totals, batch.rows, (hidden[:, 1:].double() * read).sum(dim=1).numpy())
        np.add.at(counts, batch.rows, read.sum(dim=1).numpy())
    return totals / np.maximum(counts, 1)
