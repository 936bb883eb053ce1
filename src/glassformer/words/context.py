"""Context vectors: the mean of a model's last hidden states over a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor
from torch.func import functional_call

from glassformer.data.arrays import DoubleArray, IntArray
from glassformer.data.batches import Batch
from glassformer.data.store import TokenStore
from glassformer.models.classifier import Trunk
from glassformer.prediction.scoring import window_means

Vectors = DoubleArray


def context_vectors(
    trunk: Trunk, rows: Sequence[IntArray], embeddings: Float[Tensor, "vocab d_model"], *, max_seq_len: int
) -> Vectors:
    """Return the mean of the last hidden states over each row's tokens, without the start token (rows, d_model).

    A long row is read in several windows, and a token that is in two of them counts twice. An empty row gives zeros.

    Args:
        trunk: the model's trunk, in evaluation mode.
        rows: the token ids of each text.
        embeddings: the table that is used in place of the model's own. It may have more rows.
    """

    def sums(batch: Batch) -> tuple[Tensor, Tensor]:
        token_ids, attention_mask = batch.inputs
        vectors = functional_call(trunk.embedding, {"weight": embeddings}, (token_ids,))
        hidden = trunk.read_vectors(vectors, attention_mask)
        read = attention_mask[:, 1:, None].double()
        return (hidden[:, 1:].double() * read).sum(dim=1), read.sum(dim=1)

    store = TokenStore.in_memory(list(rows))
    return window_means(sums, store, max_seq_len=max_seq_len, width=embeddings.shape[1], precision=np.float64)
