"""Completions with rewards, log-probabilities and KL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.alignment.divergence import categorical_kl, entropy
from glassformer.alignment.rollouts import Rollouts, read_rollouts, roll_out
from glassformer.data.tokenizers import TextTokenizer
from glassformer.models.language_model import TokenPredictor
from glassformer.models.reward import RewardModel
from glassformer.prediction.sampling import SamplingConfig

_TOGETHER = 256  # answers that are read at once


@dataclass(frozen=True, kw_only=True)
class Reward:
    """A function of completions that returns one number for each (batch,).

    Attributes:
        referee: another function of them, which the policy does not learn from, or None. It chooses the best policy.
        fingerprint: identifies what decides the numbers. Figures with different fingerprints are not comparable.
    """

    judge: Callable[[Rollouts], Tensor]
    fingerprint: str
    referee: Callable[[Rollouts], Tensor] | None = None

    def __call__(self, rollouts: Rollouts) -> Tensor:
        return self.judge(rollouts)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The completions of a round, as judged by the reward, the policy and its reference.

    Attributes:
        rewards: of whole completions, before the KL penalty.
        kl: of completions from the reference, in nats. It is computed exactly at every place, so it is never below 0.
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
    policy: TokenPredictor, reference: TokenPredictor, rollouts: Rollouts, rewards: Float[Tensor, " batch"]
) -> Judged:
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


@torch.inference_mode()
def raw_rewards(model: RewardModel, answers: Rollouts) -> Float[Tensor, "answers members"]:
    """Return log(member/reference) of each answer, in nats."""
    parts = torch.arange(len(answers.prompts)).split(_TOGETHER)  # logits of all answers may not fit into memory
    each = [answers.rows(part) for part in parts]
    return torch.cat([model(part.token_ids, part.attention_mask, part.loss_mask) for part in each])


def best_of(
    n: int,
    model: TokenPredictor,
    tokenizer: TextTokenizer,
    reward: Reward,
    prompts: Sequence[str],
    sampling: SamplingConfig,
    *,
    max_seq_len: int,
) -> tuple[Rollouts, list[float]]:
    """Answer each prompt `n` times, and return the best answers with their rewards. It trains nothing.

    Raises:
        GlassformerError: the model gives NaN or infinite logits. Errors of the reward pass through.
    """
    every = [prompt for prompt in prompts for _ in range(n)]
    answers = roll_out(model, tokenizer, every, sampling, max_seq_len=max_seq_len)
    rewards = reward(answers).view(-1, n).cpu()
    best = rewards.argmax(dim=1) + n * torch.arange(len(prompts))
    return answers.rows(best), rewards.amax(dim=1).tolist()
