"""What both algorithms of steering look for, in closed form, where all outcomes can be listed."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from glassformer.alignment.divergence import kl_of_logprobs


def optimal_policy(
    reference_logprobs: Float[Tensor, " outcomes"], rewards: Float[Tensor, " outcomes"], beta: float
) -> Float[Tensor, " outcomes"]:
    """Log-probabilities of the policy that maximises `objective`: π* ∝ reference · exp(reward/β).

    Rafailov et al. 2023, eq. 4. β is above 0. What the reference never does, it never does either.
    """
    return (reference_logprobs + rewards / beta).log_softmax(-1)


def objective(
    policy_logprobs: Float[Tensor, " outcomes"],
    reference_logprobs: Float[Tensor, " outcomes"],
    rewards: Float[Tensor, " outcomes"],
    beta: float,
) -> Float[Tensor, ""]:
    """E_policy[reward] − β·KL(policy ‖ reference), exactly, over all outcomes (Rafailov et al. 2023, eq. 3).

    Its maximum, at `optimal_policy`, is β · log E_reference[exp(reward/β)].
    """
    return (policy_logprobs.exp() * rewards).sum() - beta * kl_of_logprobs(policy_logprobs, reference_logprobs)
