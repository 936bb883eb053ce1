"""Embeddings: they turn token ids into vectors."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from glassformer.layers.slots import Embedding


class TokenEmbedding(Embedding):
    """One learned vector per token: a row of `weight` (vocab_size, d_model)."""

    def __init__(self, vocab_size: int, d_model: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model).normal_(std=std))

    def forward(self, token_ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]:
        return F.embedding(token_ids, self.weight)


def embed_by_product(
    token_ids: Int[Tensor, "batch seq"], weight: Float[Tensor, "vocab d_model"]
) -> Float[Tensor, "batch seq d_model"]:
    """Compute `TokenEmbedding` as one-hot rows times the table, which gives the same as the lookup. For tests."""
    return F.one_hot(token_ids, weight.shape[0]).to(weight.dtype) @ weight


class OneHotEmbedding(Embedding):
    """Turns token i into the i-th unit vector of `d_model` ≥ `vocab_size` dimensions. Nothing is learned.

    Raises:
        ValueError: d_model is smaller than vocab_size.
    """

    rows: Tensor

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        if d_model < vocab_size:
            raise ValueError(
                f"one-hot embeddings need d_model ≥ vocab_size, got d_model={d_model}, vocab_size={vocab_size}"
            )
        self.register_buffer("rows", torch.eye(vocab_size, d_model), persistent=False)

    def forward(self, token_ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]:
        return F.embedding(token_ids, self.rows)
