"""The reward model: the reward of an answer is how much likelier a language model became to give it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.models.language_model import TokenPredictor
from glassformer.models.parts import Parts, parts_of


class RewardModel(nn.Module):
    """Language models that learned preferences, beside the one that they started from, which does not learn.

    The raw reward of an answer is log(member/reference) in nats, the sum over its tokens (Rafailov et al. 2023, eq. 5,
    without β and without the term of the prompt). So each token has a reward of its own, and an answer that the members
    learned to find unlikely is worth little, whatever its last token is. Several members judge together (Coste et al.
    2023, "Reward model ensembles help mitigate overoptimization").
    """

    def __init__(self, reference: TokenPredictor, members: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(copy.deepcopy(reference) for _ in range(members))
        self.reference = copy.deepcopy(reference).requires_grad_(False)

    def forward(
        self,
        token_ids: Int[Tensor, "batch seq"],
        attention_mask: Bool[Tensor, "batch seq"],
        loss_mask: Bool[Tensor, "batch places"],
    ) -> Float[Tensor, "batch members"]:
        logprobs, reference_logprobs = self.logprobs(token_ids, attention_mask, loss_mask)
        return logprobs - reference_logprobs[:, None]

    def logprobs(
        self,
        token_ids: Int[Tensor, "batch seq"],
        attention_mask: Bool[Tensor, "batch seq"],
        loss_mask: Bool[Tensor, "batch places"],
    ) -> tuple[Float[Tensor, "batch members"], Float[Tensor, " batch"]]:
        """Return the log-probability of each answer under each member and under the reference, in nats.

        Here the padding and unknown tokens have probabilities too, since a text may hold unknown words.

        Args:
            loss_mask: True at place t if `token_ids[:, t + 1]` is a token of the answer, its end token included. It has
                one place less than `token_ids`.
        """
        with torch.no_grad():
            reference_logprobs = _logprobs(self.reference, token_ids, attention_mask, loss_mask)
        logprobs = [
            _logprobs(member, token_ids, attention_mask, loss_mask)
            for member in cast(Iterable[TokenPredictor], self.members)
        ]
        return torch.stack(logprobs, dim=1), reference_logprobs

    def train(self, mode: bool = True) -> RewardModel:
        """Set the mode of the members. The reference has no dropout in any mode."""
        super().train(mode)
        self.reference.eval()
        return self

    def parts(self) -> Parts:
        """Return the parts of all members. Blocks of the same depth are one block."""
        every = [parts_of(member) for member in self.members]
        return Parts(
            embedding=tuple(module for parts in every for module in parts.embedding),
            blocks=tuple(nn.ModuleList(level) for level in zip(*(parts.blocks for parts in every), strict=True)),
            norm=tuple(module for parts in every for module in parts.norm),
        )


def _logprobs(
    model: TokenPredictor,
    token_ids: Int[Tensor, "batch seq"],
    attention_mask: Bool[Tensor, "batch seq"],
    loss_mask: Bool[Tensor, "batch places"],
) -> Float[Tensor, " batch"]:
    """Return the log-probability of each answer. Logits are computed only where they count."""
    hidden = model.read(token_ids[:, :-1], attention_mask[:, :-1])
    logits = model.logits(hidden[loss_mask])
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    losses = F.cross_entropy(logits, token_ids[:, 1:][loss_mask], reduction="none")
    return -losses.new_zeros(loss_mask.shape).masked_scatter(loss_mask, losses).sum(dim=1)
