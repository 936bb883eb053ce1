"""The reward model: it turns token ids into one reward per text. Several of them judge together."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.layers.pooling import LastPooling
from glassformer.layers.taps import Tap
from glassformer.models.bricks import initialise
from glassformer.models.classifier import Trunk
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import Parts, parts_of


class RewardModel(nn.Module):
    """trunk → last token → linear layer with one output (Stiennon et al. 2020, §3.4)."""

    def __init__(self, config: LanguageModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.trunk = Trunk(config, vocab_size)
        self.pooling = LastPooling()
        self.head = nn.Linear(config.d_model, 1)
        self.tap_pooled, self.tap_reward = Tap(), Tap()
        initialise(self)
        nn.init.normal_(self.head.weight, std=config.d_model**-0.5)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, " batch"]:
        hidden = self.trunk.read(token_ids, attention_mask)
        pooled = self.tap_pooled(self.pooling(hidden, attention_mask))
        return self.tap_reward(self.head(pooled)[:, 0])

    def parts(self) -> Parts:
        return replace(self.trunk.parts(), pooling=(self.pooling,), head=(self.head,))


class RewardEnsemble(nn.Module):
    """Several reward models that read the same texts (Coste et al. 2023, "Reward model ensembles help mitigate
    overoptimization").

    Their heads start at different random weights, so that they differ most on texts unlike those that they learned
    from.
    """

    def __init__(self, config: LanguageModelConfig, vocab_size: int, members: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(RewardModel(config, vocab_size) for _ in range(members))

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch members"]:
        return torch.stack([member(token_ids, attention_mask) for member in self.members], dim=1)

    def parts(self) -> Parts:
        """Return the parts of all members. Blocks of the same depth are one block."""
        every = [parts_of(member) for member in self.members]
        return Parts(
            embedding=tuple(module for parts in every for module in parts.embedding),
            blocks=tuple(nn.ModuleList(level) for level in zip(*(parts.blocks for parts in every), strict=True)),
            norm=tuple(module for parts in every for module in parts.norm),
            pooling=tuple(module for parts in every for module in parts.pooling),
            head=tuple(module for parts in every for module in parts.head),
        )
