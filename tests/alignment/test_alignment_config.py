from typing import Any

import pytest
from pydantic import BaseModel

from glassformer.alignment.alignment_config import FineTuningConfig, GRPOConfig, PPOConfig, configured
from glassformer.errors import UsageError


def test_overrides_take_the_place_of_defaults() -> None:
    assert configured(PPOConfig, {}) == PPOConfig()
    made = configured(GRPOConfig, {"training.group_size": 4, "training.beta": 0.5, "training.target_kl": 3})
    assert made == GRPOConfig(group_size=4, beta=0.5, target_kl=3.0)
    assert configured(FineTuningConfig, {"training.epochs": 3}).epochs == 3
    assert configured(PPOConfig, {"training.target_kl": "none"}).target_kl is None


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        (FineTuningConfig, "training.epoch", r"did you mean training\.epochs\?"),
        (
            FineTuningConfig,
            "training.group_size",
            r"does not exist here \(it is a setting of align rl with `algorithm='grpo'`\)\. There are:\ntraining\.seed",
        ),
        (PPOConfig, "training.max_token", r"did you mean training\.max_tokens\?"),
        (PPOConfig, "training.targetkl", r"did you mean training\.target_kl\?"),
        (PPOConfig, "beta", r"did you mean training\.beta\?"),
        (PPOConfig, "ppo.lam", r"did you mean training\.lam\?"),
        (FineTuningConfig, "training.beta", r"\(it is a setting of align rl\)"),
        (PPOConfig, "training.group_size", r"\(it is a setting of align rl with `algorithm='grpo'`\)"),
        (GRPOConfig, "training.lam", r"\(it is a setting of align rl with `algorithm='ppo'`\)"),
        (PPOConfig, "model.d_model", "does not exist here"),
        (PPOConfig, "", "does not exist here"),
        (GRPOConfig, "training.gropu_size", r"did you mean training\.group_size\?"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(kind: type[BaseModel], name: str, words: str) -> None:
    with pytest.raises(UsageError, match=rf"the setting {name} .*{words}"):
        configured(kind, {name: 1})


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (FineTuningConfig, {"epochs": 0}, r"`training\.epochs=0`: it must be at least 1"),
        (FineTuningConfig, {"held_out": 0.6}, r"`training\.held_out=0\.6`: it must be at most 0\.5"),
        (FineTuningConfig, {"max_steps": 3, "max_seconds": 4.0}, r"training: max_steps = 3 and max_seconds = 4"),
        (PPOConfig, {"beta": "much"}, r"`training\.beta='much'`: .*number"),
        (PPOConfig, {"beta": float("nan")}, r"`training\.beta=nan`"),
        (PPOConfig, {"clip": 1}, r"`training\.clip=1`: .*less than 1"),
        (PPOConfig, {"batch_size": 1.5}, r"`training\.batch_size=1\.5`: it must be a whole number"),
        (PPOConfig, {"target_kl": "much"}, r"`training\.target_kl='much'`: .*number"),
        (GRPOConfig, {"batch_size": 10}, r"training: batch_size must be a multiple .* = 10, group_size = 8"),
    ],
)
def test_a_value_that_does_not_fit_is_named(kind: type[BaseModel], values: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        configured(kind, {f"training.{name}": value for name, value in values.items()})
