"""Measure how long the parts of a run take on this machine. Some steps are taken, and their weights are thrown away."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassformer.data.arrays import IntArray
from glassformer.data.documents import Documents
from glassformer.errors import UsageError
from glassformer.prediction.scoring import logits_of, score
from glassformer.readers.reader import Fold
from glassformer.training.first_stage import recipe_of_first_stage
from glassformer.training.loop import Silent, StepReport, Trainer
from glassformer.training.order import plan_epoch
from glassformer.training.preparation import Prepared
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import with_settings

_STILL = 1e-12  # a learning rate that cannot diverge
_ROWS_TO_ANSWER = 200
_BYTES_TO_READ = 500_000


@dataclass(frozen=True, kw_only=True)
class Pace:
    """What training takes.

    Attributes:
        steps: the steps of each training of a transformer. Cross-fitting has several.
        step: seconds of a step, with its share of the validation after the epoch.
        answering: seconds to answer the held-out rows in the end.
    """

    steps: tuple[int, ...]
    step: float
    answering: float

    def seconds(self, steps: int | None = None) -> float:
        """Return the seconds of all trainings, each of at most so many steps."""
        return self.step * sum(min(each, steps or each) for each in self.steps) + self.answering


@dataclass(frozen=True, kw_only=True)
class PretrainingPace:
    """What pre-training takes.

    Attributes:
        start: seconds to encode the texts.
        step: seconds of a step.
        steps_per_pass: the steps in which each text is read once.
    """

    texts: int
    start: float
    step: float
    steps_per_pass: int


class _Clock(Silent):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self._ends: list[float] = [time.perf_counter()]

    def on_step(self, report: StepReport) -> None:  # noqa: ARG002 (of every observer)
        self._ends.append(time.perf_counter())

    @property
    def step(self) -> float:
        """The mean seconds of a step. The first one is left out if there are others: it is slower."""
        return float(np.mean(np.diff(self._ends)[-max(1, len(self._ends) - 2) :]))


def measure_pace(prepared: Prepared, folds: Sequence[Fold], seconds: float) -> Pace:
    """Take steps of training for these seconds, and answer some rows. The steps change the weights of `prepared.model`.

    Args:
        folds: the folds of cross-fitting. Empty without it.
    """
    recipe, lengths = prepared.recipe, prepared.data.train.lengths
    window, epochs = recipe.model.max_seq_len, prepared.training.epochs
    still = {"max_seconds": seconds, "max_steps": None, "learning_rate": _STILL}
    config, clock = recipe.training.model_copy(update=still), _Clock()
    rows = replace(prepared.data, validation=None, validation_labels=None)
    task = type(prepared.task())(rows, config, max_seq_len=window)
    Trainer(prepared.model, task, config, observer=clock, processes=prepared.processes).run()

    def steps(of: IntArray) -> int:
        return len(plan_epoch(of, recipe.training, max_seq_len=window, epoch=0)[1])

    validation = prepared.splits.validation
    held_out = sum(len(fold.held_out) for fold in folds) if validation is None else validation.frame.height
    answering = held_out * _seconds_per_answer(prepared)
    steps_of_epoch = steps(lengths)
    return Pace(
        steps=tuple(epochs * each for each in [steps_of_epoch, *(steps(lengths[fold.learned]) for fold in folds)]),
        step=clock.step + (0 if validation is None else answering / steps_of_epoch),
        answering=answering,
    )


def _seconds_per_answer(prepared: Prepared) -> float:
    every = np.linspace(0, len(prepared.data.train) - 1, _ROWS_TO_ANSWER).astype(np.int64)
    some = prepared.sample(np.unique(every)).train
    read, window, n_classes = logits_of(prepared.model), prepared.recipe.model.max_seq_len, len(prepared.labels.names)
    began = time.perf_counter()
    score(read, some, max_seq_len=window, n_classes=n_classes)
    return (time.perf_counter() - began) / len(some)


def own_tokens(prepared: Prepared) -> int:
    """Return about how many tokens the texts of pre-training have. They are not encoded yet."""
    if prepared.own_texts is None:
        return 0
    texts, train = prepared.own_texts.texts, prepared.data.train
    per_byte = len(train.tokens) / max(1, int(prepared.own_texts.training.str.len_bytes().sum()))
    return round(int(texts.str.len_bytes().sum()) * per_byte) + len(texts)


def measure_pretraining(prepared: Prepared, seconds: float) -> PretrainingPace | None:
    """Take steps of pre-training for these seconds, on some of the texts. None if there is too little text for it."""
    assert prepared.own_texts is not None
    texts = prepared.own_texts.texts
    n_bytes = int(texts.str.len_bytes().sum())
    some = texts.gather_every(-(-n_bytes // _BYTES_TO_READ))
    still: dict[str, Any] = {"max_seconds": seconds, "learning_rate": _STILL}
    settings = {f"pretraining.{name}": value for name, value in still.items()}
    recipe = recipe_of_first_stage(with_settings(prepared.recipe, settings))
    clock, began, encoded = _Clock(), time.perf_counter(), list[float]()
    try:
        pretrain(
            Documents(texts=some, source="a sample"),
            recipe,
            device=prepared.device,
            observer=clock,
            on_prepared=lambda _: encoded.append(time.perf_counter()),
            tokenizer=prepared.tokenizer,
            processes=prepared.processes,
        )
    except UsageError:
        return None
    windows = own_tokens(prepared) // recipe.model.max_seq_len
    return PretrainingPace(
        texts=len(texts),
        start=(encoded[0] - began) * n_bytes / max(1, int(some.str.len_bytes().sum())),
        step=clock.step,
        steps_per_pass=max(1, -(-windows // (recipe.training.batch_size * recipe.training.accumulation))),
    )
