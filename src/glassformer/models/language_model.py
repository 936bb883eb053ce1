"""The language model: it turns token ids into the logits of a token for every position."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from glassformer.layers.cache import KeyValueCache
from glassformer.layers.linear import fastest_linear
from glassformer.layers.slots import AttentionMask, Positions
from glassformer.layers.taps import Tap
from glassformer.models.bricks import initialise
from glassformer.models.classifier import Trunk
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import Parts

_LEARNED_TOGETHER = 64


class TokenPredictor(nn.Module, ABC):
    """The interface of a language model, ours or a published one, for training and generation."""

    @abstractmethod
    def read(
        self,
        token_ids: Int[Tensor, "batch seq"],
        attention_mask: AttentionMask,
        *,
        positions: Positions = None,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Return the last hidden states (see `Trunk.read`)."""

    @abstractmethod
    def logits(self, hidden: Float[Tensor, "*places d_model"]) -> Float[Tensor, "*places vocab"]:
        """Return the logits of the token that each position predicts."""

    @abstractmethod
    def new_caches(self, batch: int, max_seq_len: int) -> list[KeyValueCache]:
        """Return empty caches for `read`, or an empty list if the design does not support caches."""


class LanguageModel(TokenPredictor):
    """Turns token ids into logits over the vocabulary: trunk → product with the embeddings.

    The head is tied to the embeddings: a token's logit is the product of the hidden state and the token's own embedding
    (Press & Wolf 2017; Inan et al. 2017). With causal attention a position predicts the next token. With full attention
    it predicts the token at this position.

    Args:
        n_learned: how many tokens were added to the end of the vocabulary after training.
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
        """There is no separate head: it is the table of embeddings."""
        return self.trunk.parts()

    def logits(self, hidden: Float[Tensor, "*places d_model"]) -> Float[Tensor, "*places vocab"]:
        """Return the logits for hidden states of any positions."""
        table = self.trunk.embedding.get_parameter("weight")
        if not self.n_learned:
            return self.tap_logits(fastest_linear(hidden, table))
        # The size of a matrix product changes how it is rounded. An added word must not change any other logit, not
        # even its last bit. So sizes stay the same: one product for the old tokens, one for each block of new tokens.
        trained, learned = table[: -self.n_learned], table[-self.n_learned :]
        blocks = F.pad(learned, (0, 0, 0, -self.n_learned % _LEARNED_TOGETHER)).split(_LEARNED_TOGETHER)
        logits = [fastest_linear(hidden, block) for block in (trained, *blocks)]
        return self.tap_logits(torch.cat(logits, dim=-1)[..., : len(table)])
