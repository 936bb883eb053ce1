from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from benchmarks.experiment import Experiment
from benchmarks.steering import above_before, halves, policy, prompts_of, summary
from glassformer.alignment.alignment_config import GRPOConfig, PPOConfig
from glassformer.alignment.judged import Reward
from glassformer.alignment.stage_run import Start
from glassformer.data.table import Table
from glassformer.prediction.model_folder import TrainedLanguageModel, save_model
from tests.prediction.language import trained_language_model


def table(texts: list[str], labels: list[str]) -> Table:
    frame = pl.DataFrame({"row": range(1, len(texts) + 1), "text": texts, "label": labels})
    return Table(frame=frame, source="reviews.csv", text_column="text", label_column="label")


def test_halves_have_no_row_in_common_and_both_labels() -> None:
    """Of rows that are sorted by label."""
    rows = table([f"text {number}" for number in range(41)], ["bad"] * 20 + ["good"] * 21)
    first, second = (half.frame for half in halves(rows))
    assert (first.height, second.height) == (20, 21)
    assert sorted([*first["row"], *second["row"]]) == list(range(1, 42))
    for half in (first, second):
        assert 5 < (half["label"] == "bad").sum() < 15
        assert (half["text"] == "text " + (half["row"].cast(int) - 1).cast(str)).all()
    assert halves(rows)[0].frame.equals(first)


def test_prompts_are_the_first_words_of_some_texts_and_all_different() -> None:
    texts = ["one two  three\nfour five", "one two three four six", "only four words here", "three words alone", ""]
    texts += [f"{number} b c d e" for number in range(30)]
    found = prompts_of(table(texts, ["good"] * len(texts)), 12)
    assert len(set(found)) == len(found) == 12
    assert found == prompts_of(table(texts[::-1], ["good"] * len(texts)), 12)
    assert found != sorted(found)
    every = prompts_of(table(texts, ["good"] * len(texts)), 1_000)
    assert set(every) == {"one two three four", *(f"{number} b c d" for number in range(30))}


def policies(bits: str, **of_runs: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Runs, one for each name, and what was before, by one judge."""

    def judged(liked: str) -> dict[str, Any]:
        value = liked.count("1") / len(liked)
        return {
            "liked": {"A": {"value": value}},
            "liked_by_prompt": {"A": liked},
            "kl": {"value": 2.0},
            "distinct_2": 0.5,
        }

    return [judged(liked) for liked in of_runs.values()], judged(bits)


def test_the_rise_is_the_mean_over_seeds_of_each_prompts_difference() -> None:
    """By prompt: (1 + 0) / 2, (0 + 0) / 2, (0 − 1) / 2, (1 + 1) / 2; in all a quarter."""
    found = above_before(*policies("0010", a="1011", b="0001"), "A")
    assert found.value == pytest.approx(1 / 4)
    draws = np.random.default_rng(1).choice([0.5, 0, -0.5, 1], size=(100_000, 4)).mean(axis=1)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.13)


def test_prompts_are_paired() -> None:
    """What rises by one text in forty is certain to within four texts, however the others differ from each other."""
    before = "01" * 20
    found = above_before(*policies(before, a="11" + before[2:]), "A")
    assert (found.value, found.low) == (1 / 40, 0)
    assert found.high <= 4 / 40


def test_seeds_stand_beside() -> None:
    runs, before = policies("0000", a="1110", b="1000")
    found = summary(runs, before)
    assert found["liked"]["A"] == pytest.approx({"mean": 0.5, "std": 0.5 / 2**0.5})
    assert found["above_before"]["A"]["value"] == 0.5
    assert found["kl"] == {"mean": 2.0, "std": 0.0}


def test_a_policy_is_another_when_anything_that_it_is_made_of_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    experiment = Experiment(work=tmp_path, quick=False, commit="")

    def steer(start: Start, *_: Any, out: Path, **__: Any) -> TrainedLanguageModel:
        made.append(out)
        save_model(out, start.trained, card="# It is steered\n")
        return start.trained

    def again(*, seed: int = 1, reward: str = "abc", prompts: str = "ab", config: PPOConfig | GRPOConfig) -> bool:
        """Whether it had to be made."""
        count = len(made)
        start = Start(trained=trained_language_model(seed=seed), folder=tmp_path / "lm")
        judge = Reward(judge=lambda rollouts: torch.zeros(len(rollouts.texts)), fingerprint=reward)
        policy(experiment, start, judge, list(prompts), config, reward_name="a:good")
        return len(made) > count

    monkeypatch.setattr("benchmarks.steering.steer", steer)
    four = PPOConfig(updates=4)
    assert again(config=four)
    changes: list[dict[str, Any]] = [
        {"config": PPOConfig(updates=5)},
        {"config": GRPOConfig(updates=4)},
        {"seed": 2},
        {"reward": "abd"},
        {"prompts": "ac"},
    ]
    for change in changes:
        assert again(**{"config": four} | change), change
        assert not again(config=four), change
