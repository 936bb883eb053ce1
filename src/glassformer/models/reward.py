"""The reward model: token ids in, one number per text out."""

from __future__ import annotations

import torch.nn as nn
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.layers.pooling import LastPooling
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.trunk import Trunk


class RewardModel(Trunk):
    """embed → positions → blocks → norm → the last token → a number (Stiennon et al. 2020, §3.4).

    The head starts at zero: before training no text is preferred.
    """

    def __init__(self, config: LanguageModelConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.pooling = LastPooling()
        self.head = nn.Linear(config.d_model, 1)
        self._initialise()
        nn.init.zeros_(self.head.weight)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, " batch"]:
        return self.head(self.pooling(self.read(token_ids, attention_mask), attention_mask))[:, 0]
