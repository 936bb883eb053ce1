"""What a policy wrote, as a reward, the policy itself and its reference see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.alignment.divergence import categorical_kl
from glassformer.alignment.logprobs import entropy
from glassformer.alignment.rollouts import Rollouts, read_rollouts
from glassformer.models.language_model import LanguageModel


@dataclass(frozen=True, kw_only=True)
class Reward:
    """Completions in, one number for each (batch) out.

    Attributes:
        fingerprint: of what decides the numbers. Where it differs, figures are not comparable.
    """

    judge: Callable[[Rollouts], Tensor]
    fingerprint: str

    def __call__(self, rollouts: Rollouts) -> Tensor:
        return self.judge(rollouts)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A round's completions as the reward, the policy that wrote them, and the reference see them.

    Attributes:
        rewards: of whole completions, the price of KL not taken off.
        kl: nats from the reference: exact at every place, where k₁ would draw it too, so never below 0.
        entropy: mean uncertainty of the policy where it chose a token, in nats.
    """

    rollouts: Rollouts
    rewards: Float[Tensor, " batch"]
    logprobs: Float[Tensor, "batch places"]
    reference_logprobs: Float[Tensor, "batch places"]
    hidden: Float[Tensor, "batch places d_model"]
    kl: Float[Tensor, " batch"]
    entropy: float


@torch.no_grad()
def read_back(
    policy: LanguageModel, reference: LanguageModel, rollouts: Rollouts, rewards: Float[Tensor, " batch"]
) -> Judged:
    """What the reward said of completions, with what the policy and its reference make of them."""
    logits, logprobs, hidden = read_rollouts(policy, rollouts)
    reference_logits, reference_logprobs, _ = read_rollouts(reference, rollouts)
    mask = rollouts.loss_mask
    per_place = categorical_kl(logits[mask], reference_logits[mask])
    return Judged(
        rollouts=rollouts,
        rewards=rewards.to(logprobs),
        logprobs=logprobs,
        reference_logprobs=reference_logprobs,
        hidden=hidden,
        kl=torch.zeros_like(logprobs).masked_scatter(mask, per_place).sum(dim=1),
        entropy=float(entropy(logits, mask)),
    )
