"""Cross-fitting: of a small table, every row is answered by a transformer that has not seen its label.

Holding out a tenth of a small table would leave too few rows to learn from, and too few to judge by. Without
pre-training, the transformer has not seen the text of the row either; pre-training reads the texts of all rows once.

Counting alone answers most small tables best. So cross-fitting ends when the rows that are answered so far promise too
little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, NonNegativeFloat, ValidationError
from torch import nn

from glassformer.data.arrays import FloatArray
from glassformer.data.files import write_aside
from glassformer.data.splits import Splits
from glassformer.data.store import TokenStore
from glassformer.data.wording import counted
from glassformer.prediction.folder_names import STATE_FILE
from glassformer.prediction.scoring import score
from glassformer.readers.reader import Fold
from glassformer.training.loop import NotANumberError, Observer, StepReport, Trainer
from glassformer.training.order import passes_per_epoch
from glassformer.training.preparation import Prepared
from glassformer.training.processes import leader_first
from glassformer.training.readers import GAIN, LearnedReaders
from glassformer.training.unfinished import keep_held_out, kept_held_out

Gain = Callable[[LearnedReaders, FloatArray], float]
"""Returns the nats by which a transformer of these logits raises the likelihood of held-out rows over other readers."""
_LEARNED = 0.5
"""A transformer knows its rows if its training loss is at most this share of that of its first epoch, or, within that
epoch, of its first pass over the rows. If it does not help with other rows by then, more epochs do not change that."""
_FILE = "promise.json"


class Promise(BaseModel, frozen=True, allow_inf_nan=False):
    """What the held-out rows say about the transformer before all of them are answered.

    Attributes:
        training, epoch: the training that answered the last of these rows, and the epoch in which it was looked at.
        gain: the nats by which the transformer raises their log likelihood over the other readers: in the best epoch
            of this training, as few rows can hide a gain; in its last epoch if all rows are answered.
        expected: the same for all rows, if the others are like these.
        seconds: what training took until then.
    """

    training: int
    epoch: int
    rows: int
    gain: float
    expected: float
    seconds: NonNegativeFloat = 0.0

    @property
    def enough(self) -> bool:
        return self.expected > GAIN

    def __str__(self) -> str:
        return (
            f"by {counted(self.rows, 'held-out row')} (training {self.training}, epoch {self.epoch}), it would raise "
            f"the log likelihood of all rows by {max(0.0, self.expected):.2f}; by chance alone it may rise by {GAIN}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Crossed:
    """What cross-fitting found.

    Attributes:
        logits: (rows, n_classes) of the transformers, in the order of the folds. None if they promised too little.
        broken: why the transformer is not asked. None if it is.
    """

    logits: FloatArray | None
    seconds: float
    broken: Promise | None = None


def trainer_of(prepared: Prepared, observer: Observer, beside: Sequence[FloatArray] = ()) -> Trainer[nn.Module]:
    """Return the trainer of a run. For `beside`, see `Prepared.task`."""
    return Trainer(
        prepared.model,
        prepared.task(beside),
        prepared.training,
        checkpoint=None if prepared.work is None else prepared.work / STATE_FILE,
        observer=observer,
        processes=prepared.processes,
    )


def cross_fit(prepared: Prepared, learned: LearnedReaders, observer: Observer, gain: Gain) -> Crossed:
    """Train a transformer without the rows of each fold, and let it answer them, as long as it promises to help.

    Every training is that of the recipe, from the same start and with the same budget. An interrupted one can be
    resumed. The random numbers of the caller do not change.
    """
    folds, trainings = learned.folds, len(learned.folds) + 1
    works = [None if prepared.work is None else prepared.work / f"fold-{number}" for number in range(1, trainings)]
    shapes = [(len(fold.held_out), len(prepared.labels.names)) for fold in folds]
    kept = takewhile(lambda part: part is not None, map(kept_held_out, works, shapes))
    parts = [part for part in kept if part is not None]
    if parts:
        observer.on_message(f"resumed after {len(parts)} of {trainings} trainings")
    file = None if prepared.work is None else prepared.work / _FILE
    if file is not None and file.is_file():
        with suppress(ValidationError):  # damaged: the training that ended so is not over
            ended = Promise.model_validate_json(file.read_bytes())
            return Crossed(logits=None, seconds=ended.seconds, broken=ended)

    judge = _Judge(learned=learned, gain=gain, before=parts)
    with torch.random.fork_rng(devices=[prepared.device] if prepared.device.startswith("cuda") else []):
        for number, (fold, work) in list(enumerate(zip(folds, works, strict=True), 1))[len(parts) :]:
            observer.on_message(
                f"cross-fitting: training {number} of {trainings}, without part {number} of {len(folds)}"
            )
            logits, seconds, last = _fit(prepared, fold, work, OneOfSeveral(observer, number, trainings), judge)
            if not last.enough:
                last = last.model_copy(update={"seconds": seconds + sum(before for _, before in parts)})
                if file is not None and prepared.processes.leads:
                    write_aside(file, last.model_dump_json())
                observer.on_message(f"cross-fitting ends early, without a transformer: {last}")
                return Crossed(logits=None, seconds=last.seconds, broken=last)
            if work is not None and prepared.processes.leads:
                keep_held_out(work, logits, seconds)
                (work / STATE_FILE).unlink(missing_ok=True)
            parts.append((logits, seconds))
    return Crossed(logits=np.concatenate([each for each, _ in parts]), seconds=sum(each for _, each in parts))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Judge:
    """Says what the held-out rows that are answered so far promise.

    Attributes:
        before: the logits of the parts that are answered by finished trainings, and the seconds of these.
    """

    learned: LearnedReaders
    gain: Gain
    before: list[tuple[FloatArray, float]]

    def gain_with(self, answers: FloatArray) -> float:
        """Return the gain of these answers to the next part, and of those to the parts before."""
        logits = np.concatenate([*(logits for logits, _ in self.before), answers])
        return self.gain(self.learned.of_first(len(logits)), logits)

    def promise(self, history: list[dict[str, float]]) -> Promise:
        """Return what the epochs of the present training promise, of which each row knows its `gain`."""
        folds, training = self.learned.folds, len(self.before) + 1
        rows, gains = sum(len(fold.held_out) for fold in folds[:training]), [row["gain"] for row in history]
        found = gains[-1] if training == len(folds) else max(gains)
        expected = found * len(self.learned.truth) / rows
        return Promise(training=training, epoch=len(history), rows=rows, gain=found, expected=expected)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Watch:
    """Ends a training that knows its rows, and yet helps too little with those that are held out.

    Attributes:
        answers: returns the logits of the held-out rows by the model as it is.
        steps_of_pass: in which each row is read once.
    """

    trainer: Trainer[nn.Module]
    judge: _Judge
    answers: Callable[[], FloatArray]
    steps_of_pass: int

    def after_epoch(self, row: dict[str, float]) -> None:
        history = self.trainer.state.history
        self._look(row, history, history[0]["train_loss"])

    def before_step(self) -> None:
        """Look once within an epoch too: after the first pass over the rows by which they are known.

        What a resumed run needs for the same decision is in the checkpoint, as `sums` is.
        """
        state = self.trainer.state
        if state.batch == 0 or state.batch % self.steps_of_pass or "looked" in state.sums:
            return
        loss = state.sums["loss"] / state.sums["weight"]
        begun = state.history[0]["train_loss"] if state.history else state.sums.setdefault("begun", loss)
        if loss <= _LEARNED * begun:
            row = {"train_loss": loss}
            if not self._look(row, [*state.history, row], begun):
                state.sums["looked"] = 1.0
                self.trainer.model.train()

    def _look(self, row: dict[str, float], history: list[dict[str, float]], begun: float) -> bool:
        """Note the gain in the last row of the history. Return whether the training ends."""
        (row["gain"],) = self.trainer.processes.agree(self.judge.gain_with(self.answers()))
        promise = self.judge.promise(history)
        learned = row["train_loss"] <= _LEARNED * begun
        ends = learned and not promise.enough
        if ends:
            self.trainer.end()
        return ends


def _fit(
    prepared: Prepared, fold: Fold, work: Path | None, observer: OneOfSeveral, judge: _Judge
) -> tuple[FloatArray, float, Promise]:
    """Train without the held-out rows, to the end or until it helps too little with them.

    Returns:
        The logits of the held-out rows, the seconds, and what these rows and those before promise.
    """
    table = prepared.splits.train
    learned = replace(table, frame=table.frame[fold.learned])
    own = None if prepared.own_texts is None else replace(prepared.own_texts, training=learned.frame["text"])
    part = replace(prepared, splits=Splits(train=learned, validation=None, notes=()), own_texts=own, work=work)
    window = part.recipe.model.max_seq_len
    with leader_first(part.processes):
        if work is not None:
            work.mkdir(parents=True, exist_ok=True)
        part.__dict__["training"] = prepared.training  # the same budget, although it has fewer rows
        model, _ = part.model, part.data
    trainer = trainer_of(part, observer)
    held_out = TokenStore.in_memory(part.tokenizer.encode(table.frame["text"][fold.held_out].to_list()))

    def answers() -> FloatArray:
        return score(model, held_out, max_seq_len=window, n_classes=len(part.labels.names))

    lengths, classes = part.data.train.lengths, part.data.train_labels
    passes = passes_per_epoch(lengths, prepared.training, max_seq_len=window, classes=classes)
    steps_of_pass = math.ceil(len(trainer.task.steps(0)) / passes)
    watch = _Watch(trainer=trainer, judge=judge, answers=answers, steps_of_pass=steps_of_pass)
    observer.look, trainer.before_step = watch.after_epoch, watch.before_step
    if trainer.checkpoint is not None and trainer.checkpoint.is_file():
        trainer.resume()
    try:
        trainer.run()
    except NotANumberError as error:
        again = "" if work is None else " Start again with `overwrite=True`: the unfinished run cannot be resumed."
        raise NotANumberError(f"{observer}: {error}{again}") from error
    return answers(), trainer.state.seconds, judge.promise(trainer.state.history)


class OneOfSeveral:
    """Passes on the progress of a training, and the time that it and the trainings after it take.

    All trainings have the same budget. Epochs are passed on from the last one alone, whose model is kept.
    """

    def __init__(self, observer: Observer, number: int, trainings: int) -> None:
        self._observer, self._number, self._trainings = observer, number, trainings
        self.look: Callable[[dict[str, float]], None] = lambda _: None  # after each epoch

    def __str__(self) -> str:
        return f"training {self._number} of {self._trainings}"

    def on_step(self, report: StepReport) -> None:
        later = (self._trainings - self._number) * (report.seconds + report.seconds_left)
        left = report.seconds_left + later
        self._observer.on_step(replace(report, training=self._number, trainings=self._trainings, seconds_left=left))

    def on_epoch(self, row: dict[str, float]) -> None:
        self.look(row)
        if self._number == self._trainings:
            self._observer.on_epoch(row)

    def on_message(self, text: str) -> None:
        self._observer.on_message(text)
