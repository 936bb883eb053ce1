"""The reward model: it turns token ids into one reward per text."""

from __future__ import annotations

from dataclasses import replace

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.layers.pooling import LastPooling
from glassformer.layers.taps import Tap
from glassformer.models.bricks import initialise
from glassformer.models.classifier import Trunk
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import Parts


class RewardModel(nn.Module):
    """trunk → last token → linear layer with one output (Stiennon et al. 2020, §3.4).

    The head starts at zero: before training all texts get the same reward.
    """

    def __init__(self, config: LanguageModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.trunk = Trunk(config, vocab_size)
        self.pooling = LastPooling()
        self.head = nn.Linear(config.d_model, 1)
        self.tap_pooled, self.tap_reward = Tap(), Tap()
        initialise(self)
        nn.init.zeros_(self.head.weight)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, " batch"]:
        hidden = self.trunk.read(token_ids, attention_mask)
        pooled = self.tap_pooled(self.pooling(hidden, attention_mask))
        return self.tap_reward(self.head(pooled)[:, 0])

    def parts(self) -> Parts:
        return replace(self.trunk.parts(), pooling=(self.pooling,), head=(self.head,))
