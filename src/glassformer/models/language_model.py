"""The language model: token ids in, for every place the logits of a token out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from glassformer.layers.cache import KeyValueCache
from glassformer.layers.slots import AttentionMask, Positions
from glassformer.layers.taps import Tap
from glassformer.models.bricks import initialise
from glassformer.models.classifier import Trunk
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import Parts

_LEARNED_TOGETHER = 64


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


class LanguageModel(TokenPredictor):
    """Token ids in, logits over the vocabulary out: trunk → the embeddings once more.

    The head is tied: a token's logit is the product of the hidden state and the token's own embedding (Press & Wolf
    2017; Inan et al. 2017). With causal attention the logits at a place are those of the next token, with full
    attention those of the token that belongs there.

    Args:
        n_learned: how many tokens, the last of the vocabulary, were added after training.
    """

    def __init__(self, config: LanguageModelConfig, vocab_size: int, *, n_learned: int = 0) -> None:
        super().__init__()
        self.trunk = Trunk(config, vocab_size)
        self.n_learned = n_learned
        self.tap_logits = Tap()
        initialise(self)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: AttentionMask, positions: Positions = None
    ) -> Float[Tensor, "batch seq vocab"]:
        return self.logits(self.read(token_ids, attention_mask, positions=positions))

    def read(
        self,
        token_ids: Int[Tensor, "batch seq"],
        attention_mask: AttentionMask,
        *,
        positions: Positions = None,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        return self.trunk.read(token_ids, attention_mask, positions=positions, caches=caches)

    def new_caches(self, batch: int, max_seq_len: int) -> list[KeyValueCache]:
        return self.trunk.new_caches(batch, max_seq_len)

    def parts(self) -> Parts:
        """The head is the table of embeddings and no part of its own."""
        return self.trunk.parts()

    def logits(self, hidden: Float[Tensor, "*places d_model"]) -> Float[Tensor, "*places vocab"]:
        """What `forward` makes of the hidden states, for any choice of places."""
        table = self.trunk.embedding.get_parameter("weight")
        if not self.n_learned:
            return self.tap_logits(F.linear(hidden, table))
        # A product of another size is rounded in another way. So that an added word changes no other logit, not even in
        # its last bit, products keep their sizes: that with the old tokens, and those with full blocks of new ones.
        trained, learned = table[: -self.n_learned], table[-self.n_learned :]
        blocks = F.pad(learned, (0, 0, 0, -self.n_learned % _LEARNED_TOGETHER)).split(_LEARNED_TOGETHER)
        logits = [F.linear(hidden, block) for block in (trained, *blocks)]
        return self.tap_logits(torch.cat(logits, dim=-1)[..., : len(table)])
