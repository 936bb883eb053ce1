"""One training of a search, and one measurement on rows that the search never saw. Both are kept as small files."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.labels import LabelSet
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.evaluation.metrics import correct_rows
from glassformer.evaluation.record import Record
from glassformer.experiments.keeper import keep, read_kept, run_key
from glassformer.experiments.search.rows import Part
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.training import PART, train_classifier
from glassformer.training.loop import NotANumberError, StepReport
from glassformer.training.preparation import Prepared, prepare
from glassformer.training.recipe import Recipe
from glassformer.training.run import Kept, train_prepared

_COUNTING, _TRIAL = "counting", "trial"


class OutOfTimeError(Exception):
    """A training was stopped because the time of the search is over."""


class TrialRun(Record):
    """One training of one candidate.

    Attributes:
        share: the share of the recipe's steps that it was trained for.
        loss: the log loss of the calibrated answers of both readers together, in nats. None if the training failed.
        own_loss: the log loss of the transformer alone.
        counting_seconds: the part of `seconds` that fitting the counting reader took. 0 if it was fitted before.
        failed: why there is no loss.
    """

    candidate: int
    part: int
    share: float
    loss: float | None
    own_loss: float | None
    accuracy: float | None
    parameters: int
    seconds: float
    counting_seconds: float = 0.0
    failed: str | None = None


class Measured(Record):
    """The answers of one training to the rows that the search never saw.

    Attributes:
        right: one bit for each row, in hexadecimal.
        losses: the log loss of each row, in nats.
    """

    right: str
    losses: tuple[float, ...]
    seconds: float

    def right_rows(self) -> np.ndarray:
        """Return which rows are answered rightly, bool (rows,)."""
        bits = np.frombuffer(bytes.fromhex(self.right), dtype=np.uint8)
        return np.unpackbits(bits, count=len(self.losses)).astype(np.bool_)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training of a search: a recipe on the rows of a part, for a share of its steps."""

    candidate: int
    recipe: Recipe
    part: Part
    number: int
    share: float
    device: str

    def file(self, folder: Path) -> Path:
        """Return the file that keeps it. It is named by a digest of everything that decides the result."""
        rows = {"learned": fingerprint(self.part.learned), "judged": fingerprint(self.part.judged)}
        made_of = _identity(self.recipe, self.device) | rows | {"share": self.share, "seed": self.part.seed}
        return folder / f"{run_key(made_of)}.json"


class _Listener:
    """Observes a training: passes on its share, and stops it when its time is over."""

    def __init__(self, deadline: float, on_share: Callable[[float], None] | None) -> None:
        self._deadline, self._on_share = deadline, on_share
        self._began = time.perf_counter()
        self.counting_seconds, self.parameters = 0.0, 0

    def on_prepared(self, prepared: Prepared) -> None:
        self.parameters = prepared.parameters

    def on_step(self, report: StepReport) -> None:
        gone = time.perf_counter() - self._began
        if self._on_share is not None:
            self._on_share(gone / (gone + report.seconds_left))
        if time.perf_counter() > self._deadline:
            raise OutOfTimeError

    def on_epoch(self, row: dict[str, float]) -> None: ...

    def on_message(self, text: str) -> None: ...


def run_trial(job: Job, folder: Path, *, deadline: float, on_share: Callable[[float], None]) -> TrialRun:
    """Train for a share of the steps, rate the answers to the part's other rows, and keep the run in `folder`.

    The counting reader of a part is fitted once for all trials that have it in common. A trial that diverges, or whose
    model cannot be built, is kept as failed.

    Args:
        deadline: the training is stopped at this time, by `time.perf_counter`.

    Raises:
        OutOfTimeError: it was stopped. Nothing of it is kept.
        InterruptedTraining, KeyboardInterrupt: on Ctrl-C. Nothing of it is kept.
    """
    began, listener, work = time.perf_counter(), _Listener(deadline, on_share), folder / _TRIAL
    figures: Mapping[str, Any] = {"loss": None, "own_loss": None, "accuracy": None}
    failed = None
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        figures = _rated(job, folder, work, listener)
    except (UsageError, NotANumberError) as error:
        failed = error.message
    finally:
        shutil.rmtree(work, ignore_errors=True)
    run = TrialRun(
        candidate=job.candidate,
        part=job.number,
        share=job.share,
        parameters=listener.parameters,
        seconds=round(time.perf_counter() - began, 2),
        failed=failed,
        **figures,
    )
    keep(job.file(folder), run)
    return run


def _rated(job: Job, folder: Path, work: Path, listener: _Listener) -> dict[str, Any]:
    recipe, part = _with_seed(job.recipe, job.part.seed), job.part
    prepared = prepare(Sources(train=part.learned, validation=part.judged), recipe, device=job.device, work=work)
    prepared = prepared.going_on(recipe=_shortened(prepared, job.share))
    fitted = folder / f"{_COUNTING}-{_counting_key(job)}"
    known = (fitted / _COUNTING).is_dir()
    if known:
        shutil.copytree(fitted / _COUNTING, work / _COUNTING)
    trained = train_prepared(
        prepared, Kept(out=None), time.perf_counter(), listener, listener.on_prepared, resume=False, way=PART
    )
    if not known and (work / _COUNTING).is_dir():
        fitted.mkdir(parents=True, exist_ok=True)
        (work / _COUNTING).replace(fitted / _COUNTING)
    best, readers = trained.metrics["best"], trained.metrics.get("readers", {})
    return {
        "loss": best.get("calibrated_loss", best["validation_loss"]),
        "own_loss": best["validation_loss"],
        "accuracy": readers.get("accuracy", best.get("validation_accuracy")),
        "counting_seconds": 0.0 if known else readers.get("counting_seconds", 0.0),
    }


def measure(
    recipe: Recipe,
    searched: Sources,
    unseen: Table,
    folder: Path,
    *,
    device: str = "cpu",
    on_share: Callable[[float], None] | None = None,
) -> tuple[Measured, bool]:
    """Train as `train` does on all rows of the search, answer the rows that it never saw, and keep the answers.

    Returns:
        The answers, and whether they were kept from before.

    Raises:
        InterruptedTraining, KeyboardInterrupt: nothing is kept.
        NotANumberError: the training diverged.
    """
    rows = {"searched": fingerprint(searched.train), "unseen": fingerprint(unseen)}
    file = folder / f"{run_key(_identity(recipe, device) | rows)}.json"
    kept = read_kept(file, Measured)
    if kept is not None:
        return kept, True
    began = time.perf_counter()
    trained = train_classifier(searched, recipe, device=device, observer=_Listener(math.inf, on_share))
    labels, multilabel = LabelSet.from_table(searched.train).encode(unseen), trained.config.multilabel
    probs = Predictor(trained).answer(unseen.frame["text"].to_list()).probs
    found = Measured(
        right=np.packbits(correct_rows(probs, labels, multilabel=multilabel)).tobytes().hex(),
        losses=tuple(np.round(losses_of(probs, labels, multilabel=multilabel), 6).tolist()),
        seconds=round(time.perf_counter() - began, 2),
    )
    keep(file, found)
    return found, False


def losses_of(probs: np.ndarray, labels: np.ndarray, *, multilabel: bool) -> np.ndarray:
    """Return the log loss of each row in nats, (rows,). With several labels per text it is the mean over the labels."""
    of_truth = np.where(labels > 0, probs, 1 - probs) if multilabel else probs[np.arange(len(labels)), labels]
    losses = -np.log(np.clip(of_truth.astype(np.float64), np.finfo(np.float64).eps, 1))
    return losses.mean(axis=1) if multilabel else losses


def _shortened(prepared: Prepared, share: float) -> Recipe:
    """Return the recipe for a share of its steps. The schedule covers these steps."""
    recipe, training = prepared.recipe, prepared.recipe.training
    if share == 1:
        return recipe
    if training.max_seconds is not None:
        return _with_training(recipe, max_seconds=share * training.max_seconds)
    steps = training.max_steps or prepared.training.epochs * len(prepared.task().steps(0))
    return _with_training(recipe, max_steps=max(1, round(share * steps)))


def _with_seed(recipe: Recipe, seed: int) -> Recipe:
    return _with_training(recipe, seed=seed)


def _with_training(recipe: Recipe, **changes: Any) -> Recipe:
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=changes)})


def _identity(recipe: Recipe, device: str) -> dict[str, Any]:
    return {"recipe": recipe.model_dump(mode="json", exclude={"description"}), "device": device}


def _counting_key(job: Job) -> str:
    """Return a digest of everything that decides the counting reader of a trial."""
    model, training = job.recipe.model, job.recipe.training
    made_of = {
        "counting": getattr(model, "counting", "none"),
        "class_weights": training.class_weights,
        "learned": fingerprint(job.part.learned),
        "judged": fingerprint(job.part.judged),
        "seed": job.part.seed,
    }
    return run_key(made_of)
