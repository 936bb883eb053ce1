"""Best of n: write several answers and keep the one with the highest reward. It trains nothing.

The KL from the model that writes is at most log n − (n − 1)/n (Stiennon et al. 2020, appendix G.3; Beirami et al.
2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from glassformer.alignment.judged import Reward
from glassformer.alignment.rollouts import Rollouts, roll_out
from glassformer.data.tokenizers import TextTokenizer
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.sampling import SamplingConfig


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
    """Answer each prompt `n` times, and return the best answers with their rewards.

    Raises:
        GlassformerError: the model gives NaN or infinite logits. Errors of the reward pass through.
    """
    every = [prompt for prompt in prompts for _ in range(n)]
    answers = roll_out(model, tokenizer, every, sampling, max_seq_len=max_seq_len)
    rewards = reward(answers).view(-1, n).cpu()
    best = rewards.argmax(dim=1) + n * torch.arange(len(prompts))
    return answers.rows(best), rewards.amax(dim=1).tolist()


def most_kl(n: int) -> float:
    """Return the bound of the KL of best-of-n, in nats."""
    return math.log(n) - (n - 1) / n
