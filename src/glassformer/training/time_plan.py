"""Decide what a run does with the minutes that the user gives: no transformer, fewer steps, the recipe, pre-training.

The decision is made once, from what was measured on this machine. It consists of plain settings of the recipe, so the
run can be repeated without measuring.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from glassformer.data.arrays import IntArray
from glassformer.data.checksums import add_sum, is_changed
from glassformer.data.documents import Documents
from glassformer.data.files import write_aside
from glassformer.data.wording import about, counted
from glassformer.errors import GlassformerError, UsageError
from glassformer.evaluation.verdict import capital
from glassformer.prediction.answering_config import named
from glassformer.prediction.scoring import score
from glassformer.readers.reader import Fold
from glassformer.training.loop import Observer, Silent, StepReport, Trainer
from glassformer.training.order import plan_epoch
from glassformer.training.preparation import Prepared
from glassformer.training.pretrain import pretrain, recipe_of_first_stage
from glassformer.training.processes import leader_first
from glassformer.training.readers import LearnedReaders
from glassformer.training.recipe import with_settings

FEWEST_STEPS = 75
"""The fewest steps of a training of the transformer: an epoch of a small table. Fewer were never measured."""
FEWEST_TOKENS = 100_000
"""The fewest tokens of all texts to pre-train on. The smallest table on which it was tried has about as many."""
FEWEST_PASSES, MOST_PASSES = 1.0, 25.0
"""How often pre-training reads its texts. The runs that docs/log.md describes lie between these bounds."""
_PROBE = 0.01, 2.0, 10.0
"""The share of the time that is spent on measuring, and its bounds in seconds."""
_END = 0.5
"""The share of the seconds of fitting the other readers that a run takes after its last step, to measure the model on
the held-out rows and to write it. It was a third to a half on tables of some thousand rows."""
_FILE = "time-plan.json"
_STILL = 1e-12  # a learning rate that cannot diverge
_ROWS_TO_ANSWER = 200
_BYTES_TO_READ = 500_000


class TimePlan(BaseModel, frozen=True, extra="forbid"):
    """What a run does with its time.

    Attributes:
        settings: the settings that replace those of the recipe, by dotted name. Empty: the recipe as it is.
        said: what the run does, and what it would do with more time, in words.
    """

    settings: dict[str, Any]
    seconds: float
    said: str


def plan_time(
    prepared: Prepared, learned: LearnedReaders | None, began: float, observer: Observer
) -> tuple[Prepared, dict[str, Any]]:
    """Decide what the run does in its minutes. Without such a limit, do nothing.

    A resumed run keeps the plan that it began with.

    Args:
        learned: the readers beside the transformer, which are fitted already.

    Returns:
        The same run with the settings of the plan, and what the model folder records of the plan.

    Raises:
        UsageError: several processes have no model folder to share the plan in.
    """
    if prepared.minutes is None:
        return prepared, {}
    if prepared.work is None and prepared.processes.size > 1:
        raise UsageError("`minutes=` in several processes: they share the plan in the model folder; give `out=`")
    file = None if prepared.work is None else prepared.work / _FILE
    plan = None if file is None else _kept(file)
    if plan is None:
        folds = learned.folds if learned is not None and prepared.splits.validation is None else ()
        plan = _made(prepared, learned, folds, began)
        own = prepared.own_texts
        unread = own is not None and not own.for_body and "pretraining.max_steps" not in plan.settings
        if own is not None and unread and len(own.unlabelled.texts):
            texts = counted(len(own.unlabelled.texts), "unlabelled text")
            words = f". Of the {texts}, only the words are used, for the vocabulary"
            plan = plan.model_copy(update={"said": plan.said + words})
        if file is not None:
            with leader_first(prepared.processes):
                if prepared.processes.leads:
                    write_aside(file, plan.model_dump_json())
                    add_sum(file.parent, file.name)
                plan = _kept(file) or plan  # each process has measured other seconds; those of the first one count
    observer.on_message(plan.said)
    record = {"minutes": prepared.minutes, "expected_minutes": round(plan.seconds / 60, 2), "settings": plan.settings}
    return prepared.going_on(recipe=with_settings(prepared.recipe, plan.settings)), record


def _kept(file: Path) -> TimePlan | None:
    """Return the plan that this run began with, or None if it has none yet."""
    try:
        plan = TimePlan.model_validate_json(file.read_bytes())
        if is_changed(file):
            raise ValueError("its checksum differs")
        return plan
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise GlassformerError(f"{file} is damaged; start the run again with `overwrite=True`") from error


def _made(prepared: Prepared, learned: LearnedReaders | None, folds: Sequence[Fold], began: float) -> TimePlan:
    """Measure, and decide."""
    assert prepared.minutes is not None
    share, least, most = _PROBE
    probe = min(most, max(least, share * 60 * prepared.minutes))
    pace = measure_pace(prepared, folds, probe)
    pretraining, beside = None, None if learned is None else learned.seconds

    def spent() -> float:
        return time.perf_counter() - began + _END * (beside or 0.0)

    (spare,) = prepared.processes.agree(60 * prepared.minutes - spent() - pace.seconds())
    if spare > 0 and own_tokens(prepared) >= FEWEST_TOKENS:
        pretraining = measure_pretraining(prepared, probe)
    return decide(
        Situation(
            minutes=prepared.minutes,
            spent=spent(),
            readers=() if learned is None else tuple(learned.fitted),
            beside=beside,
            epochs=prepared.training.epochs,
            pace=pace,
            pretraining=pretraining,
        )
    )


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What the decision depends on.

    Attributes:
        spent: the seconds since the beginning of the run, and those of its end.
        beside: the seconds of fitting the other readers. None if there are none.
        pretraining: None if the model cannot be pre-trained, or not in the time that is left.
    """

    minutes: float
    spent: float
    readers: Sequence[str]
    beside: float | None
    epochs: int
    pace: Pace
    pretraining: PretrainingPace | None

    @property
    def left(self) -> float:
        return 60 * self.minutes - self.spent

    @property
    def whole(self) -> float:
        """The seconds from the beginning of the run to its end with the recipe as it is."""
        return self.spent + self.pace.seconds()

    def with_passes(self, passes: float) -> float:
        """The same, with so many passes of pre-training before it."""
        assert self.pretraining is not None
        return self.whole + self.pretraining.start + passes * self.pretraining.steps_per_pass * self.pretraining.step


def decide(now: Situation) -> TimePlan:
    """Choose the most that fits into the time: see the table of docs/how-to/minutes.md."""
    begins = f"time: {now.minutes:g} minute{'' if now.minutes == 1 else 's'}. "
    if now.beside is not None:
        begins += f"{capital(' and '.join(map(named, now.readers)))} took {about(now.beside)}. "
    if now.pace.seconds() > now.left:
        return _less(now, begins)
    takes = "takes" if now.epochs == 1 else "take"
    epochs = f"{counted(now.epochs, 'epoch')} of the transformer {takes} about {about(now.pace.seconds())}"
    if len(now.pace.steps) > 1:
        epochs += f" ({len(now.pace.steps)} trainings: the table is cross-fitted)"
    if now.pretraining is None:
        said = f"{epochs}. The run takes about {about(now.whole)}, and more time would change nothing"
        return TimePlan(settings={}, seconds=now.whole, said=begins + said)
    texts, per_pass = counted(now.pretraining.texts, "text"), now.pretraining.steps_per_pass
    room = 60 * now.minutes - now.with_passes(0)
    passes = min(MOST_PASSES, room / (per_pass * now.pretraining.step))
    if passes < FEWEST_PASSES:
        first = about(now.with_passes(FEWEST_PASSES))
        said = f"{epochs}. With {first}, the model would first be pre-trained on its {texts}"
        return TimePlan(settings={}, seconds=now.whole, said=begins + said)
    steps = max(1, math.floor(passes * per_pass))
    seconds = now.with_passes(steps / per_pass)
    first = (
        f"About {about(seconds - now.whole)} go to pre-training on {texts}, which are read {passes:.1f} times; then "
        f"{epochs}. "
    )
    if passes < MOST_PASSES:
        first += f"With {about(now.with_passes(MOST_PASSES))}, the texts would be read {MOST_PASSES:g} times"
    else:
        first += f"The run takes about {about(seconds)}, and more time would change nothing"
    return TimePlan(settings={"pretraining.max_steps": steps}, seconds=seconds, said=begins + first)


def _less(now: Situation, begins: str) -> TimePlan:
    """Choose what to do if there is too little time for the recipe."""
    pace, longest = now.pace, max(now.pace.steps)
    steps = math.floor((now.left - pace.answering) / (pace.step * len(pace.steps)))
    whole = f"With {about(now.whole)}, it would get {longest:,} steps ({counted(now.epochs, 'epoch')})"
    fewest = min(FEWEST_STEPS, longest)
    if steps < fewest and now.beside is not None:
        others = " and ".join(map(named, now.readers))
        said = (
            f"No time is left to train a transformer, so the model will answer by {others} alone. With "
            f"{about(now.spent + pace.seconds(fewest))}, a transformer would be trained too"
        )
        return TimePlan(settings={"training.epochs": 0}, seconds=now.spent, said=begins + said)
    chosen = max(steps, fewest)
    seconds = now.spent + pace.seconds(chosen)
    what = f"The transformer gets {chosen:,} steps, about {about(pace.seconds(chosen))}"
    if len(pace.steps) > 1:
        what += f" ({len(pace.steps)} trainings: the table is cross-fitted)"
    if steps < fewest:
        what += f". It never gets fewer, so the run takes about {about(seconds)}"
    return TimePlan(settings={"training.max_steps": chosen}, seconds=seconds, said=f"{begins}{what}. {whole}")


# What the parts of a run take on this machine. Some steps are taken, and their weights are thrown away.


@dataclass(frozen=True, kw_only=True)
class Pace:
    """What training takes.

    Attributes:
        steps: the steps of each training of a transformer. Cross-fitting has several.
        step: seconds of a step, with its share of answering the held-out rows after the epoch.
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
        classes = prepared.data.train_labels[of]
        return len(plan_epoch(lengths[of], recipe.training, max_seq_len=window, epoch=0, classes=classes)[1])

    validation = prepared.splits.validation
    held_out = sum(len(fold.held_out) for fold in folds) if validation is None else validation.frame.height
    answering = held_out * _seconds_per_answer(prepared)
    of_all, of_folds = steps(np.arange(len(lengths))), [steps(fold.learned) for fold in folds]
    return Pace(
        steps=tuple(epochs * each for each in [of_all, *of_folds]),
        step=clock.step + answering / (sum(of_folds) or of_all),  # after each epoch too
        answering=answering,
    )


def _seconds_per_answer(prepared: Prepared) -> float:
    every = np.linspace(0, len(prepared.data.train) - 1, _ROWS_TO_ANSWER).astype(np.int64)
    some = prepared.sample(np.unique(every)).train
    window, n_classes = prepared.recipe.model.max_seq_len, len(prepared.labels.names)
    began = time.perf_counter()
    score(prepared.model, some, max_seq_len=window, n_classes=n_classes)
    return (time.perf_counter() - began) / len(some)


def own_tokens(prepared: Prepared) -> int:
    """Return about how many tokens the texts of pre-training have. They are not encoded yet."""
    own = prepared.own_texts
    if own is None or not own.for_pretraining:
        return 0
    texts, train = own.texts, prepared.data.train
    per_byte = len(train.tokens) / max(1, int(own.training.str.len_bytes().sum()))
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
