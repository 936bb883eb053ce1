import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.alignment import steering as steering_module
from glassformer.alignment.alignment_config import GRPOConfig, PPOConfig
from glassformer.alignment.judged import Reward
from glassformer.alignment.rewards import RewardError, judged_by
from glassformer.alignment.rl import steer
from glassformer.alignment.rollouts import Rollouts
from glassformer.alignment.stage_run import Start
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.folder_format import is_unfinished
from glassformer.prediction.model_folder import LANGUAGE_MODEL, TrainedLanguageModel, load_model
from glassformer.training.initial_weights import weights_fingerprint
from tests.alignment.samples import start
from tests.prediction.language import SMALL
from tests.training.samples import Memory

PROMPTS = [f"{number}:" for number in range(11)]
SHORT: dict[str, Any] = {
    "updates": 3, "batch_size": 8, "minibatch_size": 8, "epochs": 1, "max_tokens": 5, "held_out_completions": 6,
    "evaluate_every": 2, "learning_rate": 0.01, "beta": 0.1, "target_kl": None, "most_kl": 50.0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _prompts_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although there are few."""
    monkeypatch.setattr(steering_module, "FEWEST_PROMPTS", 10)


class Hears(Memory):
    """An observer of steering."""

    def on_update(self, row: dict[str, float], sample: tuple[str, str]) -> None:
        """Nothing of it is remembered."""


def low_bytes(rollouts: Rollouts) -> Tensor:
    """Any rule by which texts differ."""
    return torch.tensor([-sum(ids) / 100 for ids in rollouts.completion_ids])


def steered(
    out: Path, judge: Callable[[Rollouts], Tensor] = low_bytes, *, fingerprint: str = "1f",
    prompts: list[str] = PROMPTS, begins: Start | None = None, grpo: bool = False,
    flags: dict[str, Any] | None = None, **values: Any,
) -> TrainedLanguageModel:  # fmt: skip
    reward = Reward(judge=judge, fingerprint=fingerprint)
    config = GRPOConfig(group_size=4, **SHORT | values) if grpo else PPOConfig(**SHORT | values)
    around: dict[str, Any] = {"reward_name": "low.py:bytes", "source": "prompts.txt"} | (flags or {})
    return steer(begins or start(), reward, prompts, config, out=out, **around)


@pytest.mark.parametrize("grpo", [False, True], ids=["ppo", "grpo"])
def test_a_run_leaves_a_whole_folder_and_its_start_as_it_was(grpo: bool, tmp_path: Path) -> None:
    begins, calls = start(), count()
    before = weights_fingerprint(begins.trained.model.state_dict())
    made = steered(tmp_path, lambda rollouts: low_bytes(rollouts) + 100 * next(calls), begins=begins, grpo=grpo)
    loaded = load_model(tmp_path, LANGUAGE_MODEL)
    assert {path.name for path in tmp_path.iterdir()} == {
        "README.md", "SHA256SUMS", "config.json", "metrics.json", "model.safetensors", "tokenizer.json"
    }  # fmt: skip
    assert loaded.config == made.config
    assert loaded.config.init == {"from": "base", "fingerprint": before}
    assert weights_fingerprint(begins.trained.model.state_dict()) == before
    assert weights_fingerprint(made.model.state_dict()) == weights_fingerprint(loaded.model.state_dict()) != before
    recipe = loaded.config.recipe
    assert (recipe["algorithm"], recipe["reward"]) == ("grpo" if grpo else "ppo", "low.py:bytes")
    assert recipe["reward_fingerprint"] == "1f"
    assert recipe["training"]["updates"] == 3
    data = loaded.config.data
    assert (data["source"], data["train"], data["held_out"]) == ("prompts.txt", 10, 1)
    metrics = loaded.metrics
    assert [row["update"] for row in metrics["history"]] == [0, 1, 2, 3]
    assert metrics["best"] == next(row for row in metrics["history"] if row["update"] == metrics["best_update"])
    assert metrics["collapsed"] is None
    best, card = metrics["best"], (tmp_path / "README.md").read_text()
    assert (
        f"- On 1 held-out prompt: reward {best['held_out_reward']:.4f}, KL {best['held_out_kl']:.2f} nats from the "
        "starting model; the best of 3 evaluations on them, so somewhat optimistic.\n" in card
    )
    assert f"trained with {'GRPO' if grpo else 'PPO'} towards the reward `low.py:bytes`" in card
    assert "a different reward" not in card


def test_with_few_prompts_the_card_claims_nothing(tmp_path: Path) -> None:
    made = steered(tmp_path, prompts=PROMPTS[:9])
    assert (made.config.data["train"], made.config.data["held_out"]) == (9, 0)
    card = (tmp_path / "README.md").read_text()
    assert "Learned from 9 prompts of `prompts.txt`" in card
    assert "No prompts were held out" in card


def test_where_nothing_was_better_the_start_is_left_and_its_figures(tmp_path: Path) -> None:
    """Its reward is said, not a nought."""
    looks = 0

    def falls(rollouts: Rollouts) -> Tensor:
        nonlocal looks
        looks += 1
        return torch.full((len(rollouts.prompts),), 7.0 if looks == 1 else -1.0)

    begins = start()
    made = steered(tmp_path, falls, begins=begins)
    assert (made.metrics["best_update"], made.metrics["best"]["held_out_reward"]) == (0, 7)
    assert "reward 7.0000, KL 0.00 nats" in (tmp_path / "README.md").read_text()
    assert weights_fingerprint(made.model.state_dict()) == begins.record["fingerprint"]


def test_a_collapse_leaves_the_best_policy_in_a_folder(tmp_path: Path) -> None:
    made = steered(tmp_path, least_entropy=99.0)
    assert "stopped in round 1" in made.metrics["collapsed"]
    assert json.loads((tmp_path / "metrics.json").read_text()) == made.metrics
    assert load_model(tmp_path, LANGUAGE_MODEL).config == made.config
    assert not (tmp_path / "checkpoint").exists()
    assert "best of" not in (tmp_path / "README.md").read_text(), "there was one look only"


def test_a_reward_that_fails_says_how_to_go_on(tmp_path: Path) -> None:
    whole = steered(tmp_path / "whole")
    out, calls = tmp_path / "out", 0

    def fails_once(texts: list[str]) -> list[float]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise TimeoutError("no answer")
        return [0.0] * len(texts)

    judge = judged_by(fails_once, "judge.py:score")

    def reward(rollouts: Rollouts) -> Tensor:
        return judge(rollouts) + low_bytes(rollouts)

    with pytest.raises(
        RewardError,
        match=r"failed in test_rl\.py, line \d+: TimeoutError: no answer\. The run is saved in .* with `resume=True`",
    ):
        steered(out, reward)
    for changed, values in (
        ("reward was .* and is now 'high.py:bytes'", {"flags": {"resume": True, "reward_name": "high.py:bytes"}}),
        ("the prompts changed", {"flags": {"resume": True}, "prompts": PROMPTS[1:]}),
        ("the weights to start from changed", {"flags": {"resume": True}, "begins": start(seed=2)}),
        (r"training\.beta was 0\.\d+ and is now 0\.3", {"flags": {"resume": True}, "beta": 0.3}),
        (
            r"algorithm was 'ppo' and is now 'grpo'; training\.gamma was 1\.0 and is now not set",
            {"flags": {"resume": True}, "grpo": True},
        ),
    ):
        with pytest.raises(UsageError, match=f"`resume=True`: this run began with .*: {changed}"):
            steered(out, reward, **values)
    made = steered(out, reward, flags={"resume": True})
    assert made.metrics["history"] == whole.metrics["history"]
    assert calls == 3 + 4, "two rounds and a look before, and then what was left"
    assert weights_fingerprint(made.model.state_dict()) == weights_fingerprint(whole.model.state_dict())


def test_a_run_that_learned_nothing_leaves_nothing(tmp_path: Path) -> None:
    """Neither where the reward fails at the first look, nor where the model's weights are damaged."""

    def fails(_rollouts: Rollouts) -> Tensor:
        raise RewardError("no answer")

    out = tmp_path / "out"
    with pytest.raises(
        RewardError, match=r"^no answer\. Nothing was learned yet, so there is nothing to resume; correct"
    ):
        steered(out, fails)
    damaged = start()
    torch.nn.init.constant_(damaged.trained.model.get_parameter("trunk.norm.weight"), torch.nan)
    with pytest.raises(GlassformerError, match=r"NaN or infinite logits: its weights are damaged"):
        steered(out, begins=damaged)
    assert not out.exists()
    steered(out, updates=1)
    with pytest.raises(RewardError, match="Nothing was learned yet"):
        steered(out, fails, flags={"overwrite": True})
    assert load_model(out, LANGUAGE_MODEL).config.recipe["training"]["updates"] == 1, "the model that was there is left"
    assert not is_unfinished(out)


def test_a_reward_that_was_mended_is_said_and_written_down(tmp_path: Path) -> None:
    """The earlier one found everything worth 100, and so its start was the best of all."""

    def fails_in_round_2(rollouts: Rollouts) -> Tensor:
        if next(calls) == 2:
            raise RewardError("no answer")
        return torch.full((len(rollouts.prompts),), 100.0)

    calls, hears = count(), Hears()
    with pytest.raises(RewardError):
        steered(tmp_path, fails_in_round_2)
    made = steered(tmp_path, fingerprint="2e", flags={"resume": True, "observer": hears})
    assert any("the reward changed since this run was saved after round 1" in text for text in hears.messages)
    assert made.metrics["best_update"] > 0
    assert made.metrics["best"]["held_out_reward"] < 0
    assert load_model(tmp_path, LANGUAGE_MODEL).config.recipe["reward_fingerprint"] == "2e"
    assert "Until round 1 this name stood for a different reward." in (tmp_path / "README.md").read_text()


def test_a_run_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(UsageError, match="leaves no room for max_tokens = 5 in the window of 24"):
        steered(out, prompts=[*PROMPTS, "x" * 19])
    with pytest.raises(UsageError, match="causal model"):
        steered(out, begins=start(SMALL.model_copy(update={"attention": "full"})))
    assert not out.exists()
    steered(out, prompts=["x" * 18], updates=1)
    with pytest.raises(UsageError, match="already holds a model"):
        steered(out)
    steered(out, flags={"overwrite": True}, updates=1)
