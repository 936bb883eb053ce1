"""A small language model to start from, runs, and pairs whose answers can be learned in seconds."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from glassformer.alignment.alignment_config import FineTuningConfig, RewardConfig
from glassformer.alignment.pairs import Pair, Preference
from glassformer.alignment.stage_run import Run, Start
from glassformer.models.model_config import LanguageModelConfig
from glassformer.training.loop import Observer
from tests.prediction.language import SMALL, trained_language_model
from tests.training.samples import Memory

WINDOW = SMALL.max_seq_len


def start(shape: LanguageModelConfig = SMALL, *, seed: int = 1) -> Start:
    """A model of bytes with random weights."""
    return Start(trained=trained_language_model(model=shape, seed=seed), folder=Path("base"))


SHORT: dict[str, Any] = {
    "epochs": 2, "patience": 4, "batch_size": 3, "min_steps_per_epoch": 1, "optimizer": "adamw", "precision": "float32",
    "learning_rate": 1e-3,
}  # fmt: skip


def settings(**values: Any) -> FineTuningConfig:
    """Short runs in float32."""
    return FineTuningConfig.model_validate(SHORT | values)


def reward_settings(**values: Any) -> RewardConfig:
    """The same for two members."""
    return RewardConfig.model_validate(SHORT | {"members": 2} | values)


def run(out: Path, *, observer: Observer | None = None, **values: Any) -> Run[FineTuningConfig]:
    """From a new start each time; what is no part of the run is a setting."""
    flags = _flags(values)
    return Run(config=settings(**values), out=out, observer=observer, **flags)


def reward_run(out: Path, *, observer: Observer | None = None, **values: Any) -> Run[RewardConfig]:
    """The same for a reward model."""
    flags = _flags(values)
    return Run(config=reward_settings(**values), out=out, observer=observer, **flags)


def _flags(values: dict[str, Any]) -> dict[str, Any]:
    flags = {name: values.pop(name) for name in ("resume", "overwrite", "on_prepared", "start") if name in values}
    return {"start": start()} | flags


def pairs(count: int = 30) -> list[Pair]:
    """Of four prompts, each with one answer: 'ask 0:' → ' aaa', …"""
    return [Pair(prompt=f"ask {number % 4}:", completion=f" {'abcd'[number % 4] * 3}") for number in range(count)]


def preferences(count: int = 30) -> list[Preference]:
    """Whatever else it says, the text with the word 'good' is the better one; both come first as often."""
    fill = ["it", "all", "so", "film", "well"]
    return [
        Preference(
            prompt="it is" if number % 2 else "",
            chosen=f" {fill[number % 5]} good {number}"[: 12 + number % 3],
            rejected=f" {fill[(number + 2) % 5]} bad {number}",
        )
        for number in range(count)
    ]


def interrupted_after(step: int) -> Memory:
    """An observer in whose hearing Ctrl-C is pressed."""
    return Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == step else None)


def figures(history: list[dict[str, float]]) -> list[dict[str, float]]:
    """Everything but the seconds."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in history]
