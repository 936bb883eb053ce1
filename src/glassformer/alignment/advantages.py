"""From the reward of a completion to how much better each of its tokens did than expected.

`loss_mask` is True where a place counts, as in `logprobs`: one unbroken run in each row, after its prompt and before
its padding. A completion ends with its last place, also where it was cut off: nothing is expected to follow. Rewards
and advantages are constants of the losses, so nothing here passes a gradient.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from glassformer.alignment.divergence import kl_k1


@torch.no_grad()
def per_token_rewards(
    rewards: Float[Tensor, " batch"],
    logprobs: Float[Tensor, "batch seq"],
    reference_logprobs: Float[Tensor, "batch seq"],
    loss_mask: Bool[Tensor, "batch seq"],
    beta: float,
) -> Float[Tensor, "batch seq"]:
    """−β·k₁ = −β·(log policy − log reference) at every place of the completion, the reward on top at its last; else 0.

    A row's sum is reward − β·log(policy/reference) of the completion: Ziegler et al. 2019, eq. 2; Stiennon et al. 2020.
    """
    left = loss_mask.flip(1).cumsum(1).flip(1)  # places from here to the completion's end
    kl_cost = beta * kl_k1(logprobs, reference_logprobs, loss_mask)
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
        values: V_t, what is expected from place t on, its own reward included, before its token is chosen.
        gamma: what the next place's return is worth now; usually 1 for completions.
        lam: from 0 (one step, leans on the values) to 1 (all that followed, leans on luck).

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

    Equal ones are found by comparison: their mean may be off by a rounding error, which a division by a deviation of
    the same size would blow up to ±1.
    """
    equal = values.amax(-1, keepdim=True) == values.amin(-1, keepdim=True)
    return (values - values.mean(-1, keepdim=True)).masked_fill(equal, 0)


def _scaled(centred: Float[Tensor, "*places"]) -> Float[Tensor, "*places"]:
    """Population deviation 1 over all of them, whose mean is 0; zeros stay zeros where there is nothing else."""
    return centred / centred.square().mean().sqrt().clamp(min=torch.finfo(centred.dtype).tiny)


@torch.no_grad()
def whiten(advantages: Float[Tensor, "batch seq"], loss_mask: Bool[Tensor, "batch seq"]) -> Float[Tensor, "batch seq"]:
    """Mean 0 and deviation 1 over all places of the batch that count; 0 elsewhere, and everywhere if all are equal."""
    return torch.zeros_like(advantages).masked_scatter(loss_mask, _scaled(_centred(advantages[loss_mask])))


@torch.no_grad()
def group_relative_advantages(rewards: Float[Tensor, "prompts group"]) -> Float[Tensor, "prompts group"]:
    """(r − the mean of the prompt's completions)/σ, with one σ for all: the deviation of these differences.

    Shao et al. 2024, §4.1.2, have a σ for each group. Then 1 is what remains of whatever differs in it, be that noise;
    with one for all a difference in reward counts the same in every group. Zeros where all of a group are equal.
    """
    return _scaled(_centred(rewards))
