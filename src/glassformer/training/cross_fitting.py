"""Cross-fitting: of a small table, every row is answered by a transformer that has not seen it.

Holding out a tenth of a small table would leave too few rows to learn from, and too few to judge by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from glassformer.counting.folds import Fold
from glassformer.data.splits import Splits
from glassformer.data.store import TokenStore
from glassformer.prediction.model_folder import STATE_FILE
from glassformer.prediction.scoring import FloatArray, logits_of, score
from glassformer.training.classification import Classification
from glassformer.training.held_out import keep_held_out, kept_held_out
from glassformer.training.loop import Observer, Silent, StepReport, Trainer
from glassformer.training.preparation import Prepared


def cross_fit(prepared: Prepared, folds: Sequence[Fold], observer: Observer) -> tuple[FloatArray, float]:
    """Train a transformer without the rows of each fold, and let it answer them.

    Every training is that of the recipe, from the same start and with the same budget. An interrupted one can be
    resumed. The random numbers of the caller do not change.

    Returns:
        The logits (rows, n_classes) in the order of the folds, and the seconds that training took.

    Raises:
        InterruptedTraining, NotANumberError: see `Trainer.run`.
    """
    parts, seconds = [], 0.0
    with torch.random.fork_rng(devices=[] if prepared.device == "cpu" else None):
        for number, fold in enumerate(folds, 1):
            work = None if prepared.work is None else prepared.work / f"fold-{number}"
            found = kept_held_out(work)
            if found is None:
                observer.on_message(f"cross-fitting: training without part {number} of {len(folds)}")
                found = _fit(prepared, fold, work, observer)
                if work is not None:
                    keep_held_out(work, *found)
                    (work / STATE_FILE).unlink(missing_ok=True)
            parts.append(found[0])
            seconds += found[1]
    return np.concatenate(parts), seconds


def _fit(prepared: Prepared, fold: Fold, work: Path | None, observer: Observer) -> tuple[FloatArray, float]:
    table = prepared.splits.train
    learned = replace(table, frame=table.frame[fold.learned])
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
    part = replace(prepared, splits=Splits(train=learned, validation=None, notes=()), work=work)
    window = part.recipe.model.max_seq_len
    model = part.model
    trainer = Trainer(
        model,
        Classification(part.data, part.recipe.training, max_seq_len=window),
        part.recipe.training,
        checkpoint=None if work is None else work / STATE_FILE,
        observer=_Steps(observer),
    )
    if trainer.checkpoint is not None and trainer.checkpoint.is_file():
        trainer.resume()
    trainer.run()
    held_out = TokenStore.in_memory(part.tokenizer.encode(table.frame["text"][fold.held_out].to_list()))
    logits = score(logits_of(model), held_out, max_seq_len=window, n_classes=len(part.labels.names))
    return logits, trainer.state.seconds


class _Steps(Silent):
    """Passes on the steps and messages, but not the epochs: they are not those of the model that is kept."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    def on_step(self, report: StepReport) -> None:
        self.observer.on_step(report)

    def on_message(self, text: str) -> None:
        self.observer.on_message(text)
