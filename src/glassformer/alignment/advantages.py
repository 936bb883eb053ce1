"""Advantages: how much better each token of a completion did than expected.

`loss_mask` is True where a place counts, as in `divergence`: one unbroken run in each row, after its prompt and before
its padding. The last place ends a completion, even if it was cut off there. Rewards and advantages are constants of the
losses, so nothing here passes a gradient.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from glassformer.alignment.divergence import log_ratios


@torch.no_grad()
def per_token_rewards(
    rewards: Float[Tensor, " batch"],
    logprobs: Float[Tensor, "batch seq"],
    reference_logprobs: Float[Tensor, "batch seq"],
    loss_mask: Bool[Tensor, "batch seq"],
    beta: float,
) -> Float[Tensor, "batch seq"]:
    """−β·k₁ = −β·(log policy − log reference) at every place of the completion, plus the reward at the last; 0
    elsewhere.

    The sum of a row is reward − β·log(policy/reference) of the completion: Ziegler et al. 2019, eq. 2; Stiennon et al.
    2020.
    """
    left = loss_mask.flip(1).cumsum(1).flip(1)  # places from here to the completion's end
    kl_cost = beta * log_ratios(logprobs, reference_logprobs, loss_mask)
    return rewards[:, None].where(loss_mask & (left == 1), 0) - kl_cost


@torch.no_grad()
def generalised_advantages(
    rewards: Float[Tensor, "batch seq"],
    values: Float[Tensor, "batch seq"],
    loss_mask: Bool[Tensor, "batch seq"],
    gamma: float,
    lam: float,
) -> tuple[Float[Tensor, "batch seq"], Float[Tensor, "batch seq"]]:
    """A_t = δ_t + γλ·A_{t+1}, δ_t = r_t + γ·V_{t+1} − V_t (Schulman et al. 2016, eq. 16).

    Args:
        values: V_t, the return expected from place t on, before its token is chosen.
        gamma: the discount of the next place's return; usually 1 for completions.
        lam: from 0 (one step: low variance, biased by the values) to 1 (the whole return: unbiased, noisy).

    Returns:
        Advantages, and returns A_t + V_t, the targets of the values; both 0 at masked places.
    """
    rewards, values = rewards.where(loss_mask, 0), values.where(loss_mask, 0)
    advantages = torch.zeros_like(values)
    advantage = next_value = torch.zeros_like(values[:, 0])
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * next_value - values[:, t]
        advantage = (error + gamma * lam * advantage).where(loss_mask[:, t], 0)
        advantages[:, t], next_value = advantage, values[:, t]
    return advantages, advantages + values


def _centred(values: Float[Tensor, "*groups group"]) -> Float[Tensor, "*groups group"]:
    """Mean 0 along the last axis; zeros where all are equal.

    Equal values are found by comparison. Their mean may be off by a rounding error, and dividing that error by a
    deviation of the same size would give ±1.
    """
    equal = values.amax(-1, keepdim=True) == values.amin(-1, keepdim=True)
    return (values - values.mean(-1, keepdim=True)).masked_fill(equal, 0)


def _scaled(centred: Float[Tensor, "*places"]) -> Float[Tensor, "*places"]:
    """Values of mean 0, scaled to a population deviation of 1; all zeros stay zeros."""
    return centred / centred.square().mean().sqrt().clamp(min=torch.finfo(centred.dtype).tiny)


@torch.no_grad()
def whiten(advantages: Float[Tensor, "batch seq"], loss_mask: Bool[Tensor, "batch seq"]) -> Float[Tensor, "batch seq"]:
    """Mean 0 and deviation 1 over all places of the batch that count; 0 elsewhere, and everywhere if all are equal."""
    return torch.zeros_like(advantages).masked_scatter(loss_mask, _scaled(_centred(advantages[loss_mask])))


@torch.no_grad()
def group_relative_advantages(rewards: Float[Tensor, "prompts group"]) -> Float[Tensor, "prompts group"]:
    """(r − the mean of the prompt's completions)/σ, with one σ for all: the deviation of these differences.

    Shao et al. 2024, §4.1.2, use one σ per group, which scales every difference to 1, even mere noise. With one σ for
    all groups, a difference in reward counts the same in each. A group of equal rewards gives zeros.
    """
    return _scaled(_centred(rewards))
