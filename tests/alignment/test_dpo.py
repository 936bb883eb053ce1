import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.alignment.alignment_config import DPOConfig
from glassformer.alignment.losses import bradley_terry_loss
from glassformer.alignment.pairs import ReadPair
from glassformer.alignment.preferences import Preferences, ReadPreference
from glassformer.alignment.stage_run import Run
from glassformer.alignment.stages import prefer
from glassformer.data.tokenizers import START_ID
from glassformer.models.reward import RewardModel
from glassformer.prediction.model_folder import LANGUAGE_MODEL, load_model
from glassformer.training.loop import InterruptedTraining
from tests.alignment.samples import SHORT, figures, interrupted_after, preferences, start
from tests.prediction.language import random_model

VOCAB_SIZE, WINDOW = 11, 12


def config(**values: Any) -> DPOConfig:
    return DPOConfig.model_validate(SHORT | values)


def text(prompt: Sequence[int], answer: Sequence[int]) -> ReadPair:
    return ReadPair(token_ids=np.array([START_ID, *prompt, *answer]), begins=1 + len(prompt))


def pairs(count: int) -> list[ReadPreference]:
    """Any two answers of different lengths to prompts of different lengths."""
    rng = np.random.default_rng(3)

    def draw(least: int) -> list[int]:
        found: list[int] = rng.integers(3, VOCAB_SIZE, rng.integers(least, 5)).tolist()
        return found

    prompts = [draw(0) for _ in range(count)]
    return [ReadPreference(prompt="", chosen=text(p, draw(1)), rejected=text(p, draw(1))) for p in prompts]


def alone(model: nn.Module, read: ReadPair) -> Tensor:
    """The mean log-probability of a token of one answer, its end included."""
    ids = torch.tensor([[*read.token_ids, START_ID]])
    logprobs = model(ids, torch.ones_like(ids, dtype=torch.bool))[0].log_softmax(-1)
    return torch.stack([logprobs[t - 1, ids[0, t]] for t in range(read.begins, ids.shape[1])]).mean()


def test_the_loss_by_hand() -> None:
    chosen, rejected = torch.tensor([math.log(3), 0.0]), torch.tensor([0.0, math.log(3)])
    found = bradley_terry_loss(2 * chosen, 2 * rejected)  # σ of ±2·log 3 is 9/10 and 1/10
    torch.testing.assert_close(found, torch.tensor([-math.log(0.9), -math.log(0.1)]))
    smooth = bradley_terry_loss(2 * chosen, 2 * rejected, label_smoothing=0.25)
    assert smooth[0].item() == pytest.approx(-0.75 * math.log(0.9) - 0.25 * math.log(0.1), rel=1e-5)


def test_with_smoothing_the_loss_is_least_at_a_finite_margin() -> None:
    """β·Δ = log((1 − ε)/ε)."""
    margins = torch.linspace(-1, 9, 2001)
    losses = bradley_terry_loss(0.5 * margins, torch.zeros(2001), label_smoothing=0.1)
    assert margins[losses.argmin()].item() == pytest.approx(2 * math.log(9), abs=0.01)


def test_at_the_start_no_pair_is_decided() -> None:
    """Then the loss is log 2, and the likelihood of the chosen answers."""
    policy, made = random_model(VOCAB_SIZE, max_seq_len=WINDOW), pairs(5)
    task = Preferences(made, config(text_weight=0.5, label_smoothing=0.1, corruptions=False), window=WINDOW)
    costs = [
        (task.cost(RewardModel(policy, members=1), examples), len(examples.labels))
        for step in task.steps(0)
        for examples in step()
    ]
    passes = sum(count for _, count in costs) / 5
    likelihood = sum(float(alone(policy, pair.chosen).detach()) for pair in made)
    total = sum(cost.loss.item() for cost, _ in costs)
    assert total == pytest.approx(passes * (5 * math.log(2) - 0.5 * likelihood), rel=1e-4)
    assert all(cost.correct == count / 2 for cost, count in costs), "a tie is half right"


def dpo_run(out: Path, *, observer: Any = None, resume: bool = False, **values: Any) -> Run[DPOConfig]:
    return Run(start=start(), config=config(**values), out=out, observer=observer, resume=resume)


def test_it_learns_a_preference_and_leaves_a_language_model(tmp_path: Path) -> None:
    made = prefer(
        dpo_run(tmp_path, epochs=20, patience=20, learning_rate=5e-3, held_out=0.2, batch_size=8, corruptions=False),
        preferences(60), source="preferences.jsonl",
    )  # fmt: skip
    assert made.metrics["best"]["validation_accuracy"] > 0.9
    assert made.metrics["answers"]["after"]["kl"]["value"] > made.metrics["answers"]["before"]["kl"]["value"]
    loaded = load_model(tmp_path, LANGUAGE_MODEL)
    assert loaded.config == made.config
    assert "mean margin" in (tmp_path / "README.md").read_text()


def test_interrupted_and_resumed_is_uninterrupted(tmp_path: Path) -> None:
    values: dict[str, Any] = {"epochs": 3, "held_out": 0.4}
    whole = prefer(dpo_run(tmp_path / "whole", **values), preferences(), source="here")
    with pytest.raises(InterruptedTraining):
        prefer(dpo_run(tmp_path / "out", observer=interrupted_after(9), **values), preferences(), source="here")
    resumed = prefer(dpo_run(tmp_path / "out", resume=True, **values), preferences(), source="here")
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])
    weights = whole.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in resumed.model.state_dict().items())
