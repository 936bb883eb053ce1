"""Embeddings: they turn token ids into vectors."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.layers.slots import Embedding


class TokenEmbedding(Embedding):
    """One learned vector per token: a row of `weight` (vocab_size, d_model)."""

    def __init__(self, vocab_size: int, d_model: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model).normal_(std=std))

    def forward(self, token_ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]:
        return F.embedding(token_ids, self.weight)


class TextsEmbedding(TokenEmbedding):
    """`TokenEmbedding` for rows of several texts. Separators stand between the texts.

    To the vector of each token it adds that of its text (the segment embeddings of Devlin et al. 2019, §3.2), and
    another one if the same token is also in another text of the row (the exact match of Chen et al. 2017, §3.2).

    Args:
        n_texts: the most texts of a row.
        separator: the id of the separator. None: the last token.
        n_special: tokens below this id never match: padding, the unknown token and the start token.
    """

    of_texts: ClassVar = ("text", "match")
    """The vectors that a table for one text does not have."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_texts: int,
        *,
        separator: int | None = None,
        n_special: int = 3,
        std: float = 0.02,
    ) -> None:
        super().__init__(vocab_size, d_model, std=std)
        self.separator, self.n_special = vocab_size - 1 if separator is None else separator, n_special
        self.text = nn.Parameter(torch.empty(n_texts, d_model).normal_(std=std))
        self.match = nn.Parameter(torch.empty(d_model).normal_(std=std))

    def forward(self, token_ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]:
        text = (token_ids == self.separator).long().cumsum(dim=1).clamp(max=len(self.text) - 1)
        matches = self._matches(token_ids, text).unsqueeze(2).to(self.match.dtype)
        return super().forward(token_ids) + F.embedding(text, self.text) + matches * self.match

    def _matches(
        self, token_ids: Int[Tensor, "batch seq"], text: Int[Tensor, "batch seq"]
    ) -> Bool[Tensor, "batch seq"]:
        """Whether each token is also in another text of its row."""
        same = token_ids.unsqueeze(2) == token_ids.unsqueeze(1)
        other = text.unsqueeze(2) != text.unsqueeze(1)
        is_word = (token_ids >= self.n_special) & (token_ids != self.separator)
        return (same & other).any(dim=2) & is_word


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
