"""From the score of a completion to how much better each of its tokens did than expected.

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
    scores: Float[Tensor, " batch"],
    logprobs: Float[Tensor, "batch seq"],
    reference_logprobs: Float[Tensor, "batch seq"],
    loss_mask: Bool[Tensor, "batch seq"],
    beta: float,
) -> Float[Tensor, "batch seq"]:
    """−β·k₁ = −β·(log policy − log reference) at every place of the completion, the score on top at its last; else 0.

    A row's sum is score − β·log(policy/reference) of the completion (Ziegler et al. 2019, eq. 2; Stiennon et al. 2020).
    """
    left = loss_mask.flip(1).cumsum(1).flip(1)  # places from here to the completion's end
    rewards = -beta * kl_k1(logprobs, reference_logprobs, loss_mask)
    return rewards + scores[:, None].where(loss_mask & (left == 1), 0)


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


def _standardised(values: Float[Tensor, "*groups group"]) -> Float[Tensor, "*groups group"]:
    """Mean 0 and population deviation 1 along the last axis; zeros where all are equal.

    Equal ones are found by comparison: their mean may be off by a rounding error, which a division by the deviation,
    of the same size, would blow up to ±1.
    """
    equal = values.amax(-1, keepdim=True) == values.amin(-1, keepdim=True)
    centred = (values - values.mean(-1, keepdim=True)).masked_fill(equal, 0)
    deviation = centred.square().mean(-1, keepdim=True).sqrt()
    return centred / deviation.clamp(min=torch.finfo(values.dtype).tiny)


@torch.no_grad()
def whiten(advantages: Float[Tensor, "batch seq"], loss_mask: Bool[Tensor, "batch seq"]) -> Float[Tensor, "batch seq"]:
    """Mean 0 and deviation 1 over all places of the batch that count; 0 elsewhere, and everywhere if all are equal."""
    return torch.zeros_like(advantages).masked_scatter(loss_mask, _standardised(advantages[loss_mask]))


@torch.no_grad()
def group_relative_advantages(rewards: Float[Tensor, "prompts group"]) -> Float[Tensor, "prompts group"]:
    """(r − mean)/deviation over the completions of one prompt (Shao et al. 2024, §4.1.2); zeros where all are equal.

    The paper leaves open which deviation; here it is the population's, so that two different rewards become ±1.
    """
    return _standardised(rewards)
