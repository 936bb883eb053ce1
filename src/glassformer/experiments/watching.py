"""The trainings of an experiment: how they are watched, and which file keeps what came of one."""

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from glassformer.experiments.judging import Judge
from glassformer.experiments.keeper import run_key
from glassformer.training.loop import StepReport
from glassformer.training.preparation import Prepared
from glassformer.training.recipe import Recipe
from glassformer.training.unfinished import content_of_readers


class OutOfTimeError(Exception):
    """A training was stopped because the time of the experiment is over."""


class Watcher(Protocol):
    """Is told about the progress of an experiment."""

    def on_run(self, name: str) -> None:
        """A training begins."""

    def on_share(self, share: float) -> None:
        """`share` of it is done."""

    def on_done(self, run: Any, name: str) -> None:
        """A run is done and kept."""

    def on_message(self, text: str) -> None:
        """There is a message."""


def _ignore(_: Any) -> None: ...


class Listener:
    """Observes a training: passes on its share and its messages, and stops it when its time is over.

    Attributes:
        times: when each step ended, by `time.perf_counter`.
    """

    def __init__(
        self,
        on_share: Callable[[float], None] = _ignore,
        on_message: Callable[[str], None] = _ignore,
        *,
        deadline: float = math.inf,
    ) -> None:
        self._on_share, self.on_message, self._deadline = on_share, on_message, deadline
        self.began = time.perf_counter()
        self.parameters = self.training_rows = self.validation_rows = 0
        self.times, self.speeds = list[float](), list[float]()

    def on_prepared(self, prepared: Prepared) -> None:
        train, validation = prepared.splits.train, prepared.splits.validation
        self.parameters, self.training_rows = prepared.parameters, train.frame.height
        self.validation_rows = 0 if validation is None else validation.frame.height

    def on_step(self, report: StepReport) -> None:
        self.times.append(time.perf_counter())
        self.speeds.append(report.speed)
        gone = self.times[-1] - self.began
        self._on_share(gone / (gone + report.seconds_left))
        if self.times[-1] > self._deadline:
            raise OutOfTimeError

    def on_epoch(self, row: dict[str, float]) -> None: ...


def with_training(recipe: Recipe, **changes: Any) -> Recipe:
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=changes)})


def run_file(folder: Path, judge: Judge, recipe: Recipe, device: str, rows: Mapping[str, Any]) -> Path:
    """Return the file that keeps a run. It is named by a digest of everything that decides the result.

    Args:
        rows: what says which rows are learned and measured.
    """
    settings = recipe.model_dump(mode="json", exclude={"description"})
    decided_by = {"learned as": judge.kind, "recipe": settings, "device": device, **rows}
    return folder / f"{run_key(decided_by | content_of_readers(recipe.model))}.json"
