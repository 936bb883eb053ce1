"""Cross-fitting: of a small table, every row is answered by a transformer that has not seen its label.

Holding out a tenth of a small table would leave too few rows to learn from, and too few to judge by. Without
pre-training, the transformer has not seen the text of the row either; pre-training reads the texts of all rows once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from glassformer.data.arrays import FloatArray
from glassformer.data.splits import Splits
from glassformer.data.store import TokenStore
from glassformer.prediction.folder_names import STATE_FILE
from glassformer.prediction.scoring import logits_of, score
from glassformer.readers.reader import Fold
from glassformer.training.held_out import keep_held_out, kept_held_out
from glassformer.training.loop import NotANumberError, Observer, StepReport, Trainer
from glassformer.training.preparation import Prepared
from glassformer.training.processes import leader_first


def cross_fit(prepared: Prepared, folds: Sequence[Fold], observer: Observer) -> tuple[FloatArray, float]:
    """Train a transformer without the rows of each fold, and let it answer them.

    Every training is that of the recipe, from the same start and with the same budget. An interrupted one can be
    resumed. The random numbers of the caller do not change.

    Returns:
        The logits (rows, n_classes) in the order of the folds, and the seconds that training took.

    Raises:
        InterruptedTraining, NotANumberError: see `Trainer.run`.
    """
    trainings = len(folds) + 1
    works = [None if prepared.work is None else prepared.work / f"fold-{number}" for number in range(1, trainings)]
    parts = [kept_held_out(work) for work in works]
    if finished := sum(part is not None for part in parts):
        observer.on_message(f"resumed after {finished} of {trainings} trainings")
    with torch.random.fork_rng(devices=[prepared.device] if prepared.device.startswith("cuda") else []):
        for number, (fold, work) in enumerate(zip(folds, works, strict=True), 1):
            if parts[number - 1] is not None:
                continue
            observer.on_message(
                f"cross-fitting: training {number} of {trainings}, without part {number} of {len(folds)}"
            )
            found = _fit(prepared, fold, work, OneOfSeveral(observer, number, trainings))
            if work is not None and prepared.processes.leads:
                keep_held_out(work, *found)
                (work / STATE_FILE).unlink(missing_ok=True)
            parts[number - 1] = found
    observer.on_message(f"cross-fitting: training {trainings} of {trainings}, on all rows")
    done = [part for part in parts if part is not None]
    return np.concatenate([logits for logits, _ in done]), sum(seconds for _, seconds in done)


def _fit(prepared: Prepared, fold: Fold, work: Path | None, observer: OneOfSeveral) -> tuple[FloatArray, float]:
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
    trainer = Trainer(
        model,
        part.task(),
        prepared.training,
        checkpoint=None if work is None else work / STATE_FILE,
        observer=observer,
        processes=part.processes,
    )
    if trainer.checkpoint is not None and trainer.checkpoint.is_file():
        trainer.resume()
    try:
        trainer.run()
    except NotANumberError as error:
        again = "" if work is None else " Start again with `overwrite=True`: the unfinished run cannot be resumed."
        raise NotANumberError(f"{observer}: {error}{again}") from error
    held_out = TokenStore.in_memory(part.tokenizer.encode(table.frame["text"][fold.held_out].to_list()))
    logits = score(logits_of(model), held_out, max_seq_len=window, n_classes=len(part.labels.names))
    return logits, trainer.state.seconds


class OneOfSeveral:
    """Passes on the progress of a training, and the time that it and the trainings after it take.

    All trainings have the same budget. Epochs are passed on from the last one alone, whose model is kept.
    """

    def __init__(self, observer: Observer, number: int, trainings: int) -> None:
        self._observer, self._number, self._trainings = observer, number, trainings

    def __str__(self) -> str:
        return f"training {self._number} of {self._trainings}"

    def on_step(self, report: StepReport) -> None:
        later = (self._trainings - self._number) * (report.seconds + report.seconds_left)
        left = report.seconds_left + later
        self._observer.on_step(replace(report, training=self._number, trainings=self._trainings, seconds_left=left))

    def on_epoch(self, row: dict[str, float]) -> None:
        if self._number == self._trainings:
            self._observer.on_epoch(row)

    def on_message(self, text: str) -> None:
        self._observer.on_message(text)
