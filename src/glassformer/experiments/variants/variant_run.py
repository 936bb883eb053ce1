"""One run of a comparison of variants. It is trained, measured, and kept as one small file."""

import dataclasses
import hashlib
import statistics
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from glassformer.data.arrays import Array
from glassformer.data.sources import Sources
from glassformer.errors import UsageError
from glassformer.evaluation.record import Record
from glassformer.experiments.keeper import keep, read_kept
from glassformer.experiments.variants.plan import Cut, Variant
from glassformer.experiments.watching import Listener, Watcher, with_training
from glassformer.prediction.model_folder import TrainedModel
from glassformer.training.loop import NotANumberError
from glassformer.training.recipe import Recipe
from glassformer.training.run import train_model
from glassformer.training.unfinished import versions

_TIMED_STEPS, _TIMED_ROWS = 6, 400
_FIRST_TIMED = 2  # the first steps are slower


class VariantRun(Record):
    """One variant trained with one seed. Each measured row has one of `values` (see `Judge`); `mean` is their mean.
    `answers` is a digest of all figures of the rows. It is empty if the run diverged."""

    variant: str
    seed: int
    mean: float
    values: tuple[float, ...]
    rows: int
    training_rows: int
    validation_rows: int
    parameters: int
    seconds: float
    tokens_per_second: float
    steps: int
    best_epoch: int
    diverged: bool
    threads: int
    versions: dict[str, str]
    created: str
    answers: str = ""


class ComparisonWatcher(Watcher, Protocol):
    """Is told about the progress of a comparison. The name of a finished run is that of its figure."""

    def on_plan(self, runs: int, done: int, seconds: float | None) -> None:
        """The comparison begins. `done` of its runs are kept already; the others take about `seconds`, if known."""


def read_run(file: Path, variant: Variant) -> VariantRun | None:
    """Read a kept run, or return None. Another comparison may have kept it, with another name of the same variant.

    Raises:
        GlassformerError: the file is damaged.
    """
    run = read_kept(file, VariantRun)
    return None if run is None else run.model_copy(update={"variant": variant.name})


def run_variant(variant: Variant, recipe: Recipe, cut: Cut, file: Path, *, device: str, watcher: Watcher) -> VariantRun:
    """Train and measure one variant with one seed, and keep the run in `file`.

    A run that diverges counts as if it gave all texts the same answer.

    Raises:
        InterruptedTraining: on Ctrl-C. Nothing of this run is kept.
    """
    listener, judge = Listener(watcher.on_share, watcher.on_message), cut.judge
    trained: TrainedModel | None = None
    try:
        how: dict[str, Any] = {"device": device, "observer": listener, "on_prepared": listener.on_prepared}
        trained = train_model(cut.sources, recipe, family=judge.kind, **how)
        rows, tokens_per_text = judge.rows(trained, cut.measured), _tokens_per_text(trained, cut)
    except NotANumberError:
        trained, rows, tokens_per_text = None, judge.rows_without_reading(cut.sources.train, cut.measured), 0.0
    values = judge.values(rows, cut.measured)
    run = VariantRun(
        variant=variant.name,
        seed=recipe.training.seed,
        mean=float(values.mean()),
        values=tuple(map(float, values)),
        rows=len(values),
        training_rows=listener.training_rows,
        validation_rows=listener.validation_rows,
        parameters=listener.parameters,
        seconds=trained.config.training_seconds if trained else round(time.perf_counter() - listener.began, 2),
        tokens_per_second=statistics.median(listener.speeds or [0.0]) * tokens_per_text,
        steps=len(listener.times),
        best_epoch=0 if trained is None else int(trained.metrics["best_epoch"]),
        diverged=trained is None,
        threads=torch.get_num_threads(),
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        answers=_digest(rows) if trained else "",
    )
    keep(file, run)
    return run


def seconds_per_step(recipe: Recipe, cut: Cut, device: str) -> float | None:
    """Measure the seconds of a step with a few steps on some rows, or return None if these rows make no run."""
    train = cut.sources.train
    some = dataclasses.replace(train, frame=train.frame.sample(min(_TIMED_ROWS, train.frame.height), seed=0))
    validation = recipe.validation.model_copy(update=dict.fromkeys(("fraction", "file", "group", "time")))
    timed = with_training(recipe, max_steps=_TIMED_STEPS, max_seconds=None)
    quick = timed.model_copy(update={"validation": validation})
    listener = Listener()
    try:
        train_model(Sources(train=some), quick, family=cut.judge.kind, device=device, observer=listener)
    except (UsageError, NotANumberError):  # a rare label or a diverging variant; the full run handles both
        return None
    return (listener.times[-1] - listener.times[_FIRST_TIMED - 1]) / (_TIMED_STEPS - _FIRST_TIMED)


def _digest(rows: Mapping[str, Array]) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(rows[key]).tobytes() for key in sorted(rows))).hexdigest()[:16]


def _tokens_per_text(trained: TrainedModel, cut: Cut) -> float:
    """Return the mean number of tokens that training reads of a measured text."""
    lengths = np.array([len(row) for row in trained.tokenizer.encode(cut.measured.frame["text"].to_list())])
    return float(np.minimum(lengths + 1, trained.config.model.max_seq_len).mean())
