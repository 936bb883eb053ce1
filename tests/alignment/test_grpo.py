from itertools import combinations
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.alignment import grpo as module
from glassformer.alignment.advantages import group_relative_advantages
from glassformer.alignment.alignment_config import GRPOConfig
from glassformer.alignment.divergence import log_ratios
from glassformer.alignment.grpo import grpo
from glassformer.alignment.judged import Judged, Reward
from glassformer.alignment.rollouts import Rollouts
from glassformer.alignment.steering import Steering
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from tests.support import randomise

TOKENIZER = TextTokenizer.train(["a b c"], TokenizerConfig(min_frequency=1, numbering="appearance"))
A, GROUP = 3, 5


def test_a_prompt_that_is_always_answered_rightly_pays_what_the_others_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A nat of KL, in units of reward: the same in every group of a round, whatever else is rewarded in it."""
    asked: list[list[str]] = []
    rewards: list[Tensor] = []
    nats: list[Tensor] = []
    advantages: list[Tensor] = []

    def judge(rollouts: Rollouts) -> Tensor:
        asked.append(rollouts.prompts[::GROUP])
        right = [
            prompt == "b" or A in ids for prompt, ids in zip(rollouts.prompts, rollouts.completion_ids, strict=True)
        ]
        rewards.append(torch.tensor(right).float())
        return rewards[-1]

    def remember_kl(*arguments: Any) -> Tensor:
        nats.append(log_ratios(*arguments))
        return nats[-1]

    def remember_advantages(groups: Tensor) -> Tensor:
        advantages.append(group_relative_advantages(groups))
        return advantages[-1]

    monkeypatch.setattr(module, "log_ratios", remember_kl)
    monkeypatch.setattr(module, "group_relative_advantages", remember_advantages)
    config = GRPOConfig(
        updates=2, batch_size=6 * GROUP, minibatch_size=15, group_size=GROUP, max_tokens=4, learning_rate=0.01,
        beta=0.2, held_out_completions=7, evaluate_every=9,
    )  # fmt: skip
    shape = LanguageModelConfig(d_model=8, n_layers=1, n_heads=2, d_ff=12, max_seq_len=9)
    policy = randomise(LanguageModel(shape, TOKENIZER.vocab_size), std=0.3).eval()
    grpo(Steering(policy, TOKENIZER, Reward(judge=judge, fingerprint=""), ["a", "b"], config, max_seq_len=9))

    last = (figures.view(-1, GROUP).tolist() for figures in (rewards[2], nats[1].sum(dim=1), advantages[1]))
    prices: dict[str, list[float]] = {"a": [], "b": []}
    for prompt, group_rewards, group_kl, group in zip(asked[2], *last, strict=True):  # at 0 it was a look
        for i, j in combinations(range(GROUP), 2):
            if group_rewards[i] == group_rewards[j] and abs(group_kl[i] - group_kl[j]) > 0.01:
                prices[prompt].append((group[i] - group[j]) / (group_kl[j] - group_kl[i]))
    assert min(map(len, prices.values())) > 5
    every = [*prices["a"], *prices["b"]]
    assert every == pytest.approx([every[0]] * len(every), rel=1e-3)


def test_a_nat_away_from_the_reference_costs_beta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are compared by reward − β · (log policy − log reference), from the log-probabilities of both models."""
    written: list[Judged] = []
    compared: list[Tensor] = []
    write = Steering.write

    def remember_write(self: Steering[GRPOConfig], number: int, *, group_size: int = 1) -> Judged:
        written.append(write(self, number, group_size=group_size))
        return written[-1]

    def remember_groups(groups: Tensor) -> Tensor:
        compared.append(groups)
        return group_relative_advantages(groups)

    monkeypatch.setattr(Steering, "write", remember_write)
    monkeypatch.setattr(module, "group_relative_advantages", remember_groups)

    def holds_a(rollouts: Rollouts) -> Tensor:
        return torch.tensor([A in ids for ids in rollouts.completion_ids]).float()

    beta = 0.25
    config = GRPOConfig(
        updates=2, batch_size=2 * GROUP, minibatch_size=5, group_size=GROUP, max_tokens=4, learning_rate=0.05,
        beta=beta, target_kl=None, most_kl=50.0, held_out_completions=3, evaluate_every=9,
    )  # fmt: skip
    shape = LanguageModelConfig(d_model=8, n_layers=1, n_heads=2, d_ff=12, max_seq_len=9)
    policy = randomise(LanguageModel(shape, TOKENIZER.vocab_size), std=0.3).eval()
    grpo(Steering(policy, TOKENIZER, Reward(judge=holds_a, fingerprint=""), ["a", "b"], config, max_seq_len=9))

    second = written[1]  # before the first update policy and reference are one
    apart = ((second.logprobs - second.reference_logprobs) * second.rollouts.loss_mask).sum(dim=1)
    assert apart.abs().max() > 0.1
    torch.testing.assert_close(compared[1].flatten(), second.rewards - beta * apart)
