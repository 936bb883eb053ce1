"""How fast language models train and write."""

from __future__ import annotations

import statistics
import time

import numpy as np
import torch

from glassformer.data.store import TokenStore
from glassformer.models.build import build_language_model
from glassformer.prediction.generation import begin_views, write_tokens
from glassformer.prediction.model_folder import TrainedLanguageModel
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training.language_modelling import LanguageModelling
from glassformer.training.loop import Silent, StepReport, Trainer
from glassformer.training.recipe import PretrainingRecipe

TIMED_STEPS, UNTIMED_STEPS = 20, 3
WRITTEN_TOKENS, REPEATS, BATCHES = 128, 5, (1, 32)


class Clock(Silent):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_step(self, _report: StepReport) -> None:
        self.times.append(time.perf_counter())


def training_speed(recipe: PretrainingRecipe, store: TokenStore, vocab_size: int) -> float:
    """Tokens in a second of training, all of a step included: the median step's, validation apart."""
    budget = {"max_seconds": None, "max_steps": TIMED_STEPS + UNTIMED_STEPS}
    config, clock, window = recipe.training.model_copy(update=budget), Clock(), recipe.model.max_seq_len
    task = LanguageModelling(store, config, window=window, causal=True)
    torch.manual_seed(config.seed)
    Trainer(build_language_model(recipe.model, vocab_size), task, config, observer=clock).run()
    seconds = np.diff(clock.times)[UNTIMED_STEPS - 1 :]
    return float(config.batch_size * config.accumulation * window / np.median(seconds))


def writing_speeds(trained: TrainedLanguageModel, seed: int) -> dict[str, dict[str, float | None]]:
    """Tokens in a second of generation, by batch and by whether keys and values are kept; none where that cannot be."""
    has_cache = bool(trained.model.new_caches(1, 2))
    return {
        f"batch {batch}": {
            "cached": writing_speed(trained, batch, cached=True, seed=seed) if has_cache else None,
            "uncached": writing_speed(trained, batch, cached=False, seed=seed),
        }
        for batch in BATCHES
    }


def writing_speed(trained: TrainedLanguageModel, batch: int, *, cached: bool, seed: int) -> float:
    """The median of repeats."""
    sampling, speeds = SamplingConfig(max_tokens=WRITTEN_TOKENS, seed=seed), []
    for _ in range(REPEATS):
        views = begin_views([[]] * batch, trained.config.model.max_seq_len, seed=seed)
        began = time.perf_counter()
        for _ in write_tokens(trained.model, views, sampling, cached=cached):
            for view in views:
                view.ended = False  # all write to the end, so that as much is written by every model
        speeds.append(batch * WRITTEN_TOKENS / (time.perf_counter() - began))
    return statistics.median(speeds)
