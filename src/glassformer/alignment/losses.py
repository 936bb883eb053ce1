"""The losses of alignment: preferences, policy and value function.

`loss_mask` is True where a place counts, as in `divergence`.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from glassformer.alignment.divergence import log_ratios, mean_over_tokens


def bradley_terry_loss(
    chosen_rewards: Float[Tensor, "*pairs"], rejected_rewards: Float[Tensor, "*pairs"], label_smoothing: float = 0.0
) -> Float[Tensor, "*pairs"]:
    """−(1 − ε)·log σ(chosen − rejected) − ε·log σ(rejected − chosen) of each pair, in nats.

    Bradley & Terry 1952; Stiennon et al. 2020, eq. 1; Ouyang et al. 2022, eq. 1. Only differences count, so rewards of
    different prompts have no common zero. With rewards β·log(policy/reference) it is the loss of DPO (Rafailov et al.
    2023, eq. 7), and with ε above 0 its conservative form (Mitchell 2023).

    Args:
        label_smoothing: ε, the share of the preferences that may be the wrong way round, from 0 to below one half.
    """
    margin = chosen_rewards - rejected_rewards
    return -(1 - label_smoothing) * F.logsigmoid(margin) - label_smoothing * F.logsigmoid(-margin)


def preference_accuracy(
    chosen_rewards: Float[Tensor, " pairs"], rejected_rewards: Float[Tensor, " pairs"]
) -> Float[Tensor, ""]:
    """Share of pairs whose chosen side has the higher reward; a tie counts half."""
    return ((chosen_rewards - rejected_rewards).sign() / 2 + 0.5).mean()


def clipped_policy_loss(
    logprobs: Float[Tensor, "batch seq"],
    old_logprobs: Float[Tensor, "batch seq"],
    advantages: Float[Tensor, "batch seq"],
    loss_mask: Bool[Tensor, "batch seq"],
    clip: float,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """−min(ρ·A, clip(ρ, 1 ± clip)·A) with ρ = policy/old policy per token: the mean over all places that count.

    Schulman et al. 2017, eq. 7.

    Args:
        logprobs: of the policy that learns.
        old_logprobs: of the policy that drew the tokens; a constant, as `advantages` are.
        clip: ε, above 0.

    Returns:
        The loss, and the share of places whose clipped term is smaller: these give no gradient.
    """
    ratios = log_ratios(logprobs, old_logprobs, loss_mask).exp()
    free = ratios * advantages
    clipped = ratios.clamp(1 - clip, 1 + clip) * advantages
    share = mean_over_tokens((clipped < free).to(free.dtype), loss_mask)
    return -mean_over_tokens(torch.minimum(free, clipped), loss_mask), share


def clipped_value_loss(
    values: Float[Tensor, "batch seq"],
    old_values: Float[Tensor, "batch seq"],
    returns: Float[Tensor, "batch seq"],
    loss_mask: Bool[Tensor, "batch seq"],
    clip: float,
) -> Float[Tensor, ""]:
    """½ max((V − R)², (clip(V, V_old ± clip) − R)²), the mean over all places of the batch that count.

    From the code of the PPO authors, not from their paper (Engstrom et al. 2020). A value gains nothing by moving
    farther than `clip` in one round. `old_values` (those behind the advantages) and `returns` are constants.
    """
    values, old_values, returns = (x.where(loss_mask, 0) for x in (values, old_values, returns))
    clipped = values.clamp(old_values - clip, old_values + clip)
    return mean_over_tokens(torch.maximum((values - returns).square(), (clipped - returns).square()) / 2, loss_mask)
