"""The language model: token ids in, for every place the logits of a token out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from glassformer.layers.cache import KeyValueCache
from glassformer.layers.masks import AttentionMask
from glassformer.layers.positions import Positions
from glassformer.models.config import LanguageModelConfig
from glassformer.models.trunk import Trunk


class TokenPredictor(nn.Module, ABC):
    """What training and generation need of a language model, ours or a published one."""

    @abstractmethod
    def read(
        self,
        token_ids: Int[Tensor, "batch seq"],
        attention_mask: AttentionMask,
        *,
        positions: Positions = None,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """The last hidden states (see `Trunk.read`)."""

    @abstractmethod
    def logits(self, hidden: Float[Tensor, "*places d_model"]) -> Float[Tensor, "*places vocab"]:
        """Of the token that each place predicts."""

    @abstractmethod
    def new_caches(self, batch: int, max_seq_len: int) -> list[KeyValueCache]:
        """Empty caches for `read`; an empty list where the design has none."""


class LanguageModel(Trunk, TokenPredictor):
    """Token ids in, logits over the vocabulary out: embed → positions → blocks → norm → the embeddings once more.

    The head is tied: a token's logit is the product of the hidden state and the token's own embedding (Press & Wolf
    2017; Inan et al. 2017). With causal attention the logits at a place are those of the next token, with full
    attention those of the token that belongs there.
    """

    def __init__(self, config: LanguageModelConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self._initialise()

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: AttentionMask, positions: Positions = None
    ) -> Float[Tensor, "batch seq vocab"]:
        return self.logits(self.read(token_ids, attention_mask, positions=positions))

    def logits(self, hidden: Float[Tensor, "*places d_model"]) -> Float[Tensor, "*places vocab"]:
        """What `forward` makes of the hidden states, for any choice of places."""
        return F.linear(hidden, self.get_parameter("embedding.weight"))
