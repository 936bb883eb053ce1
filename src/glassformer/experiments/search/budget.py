"""The time of a search, and the rungs that it is spent on."""

import math
import time
from dataclasses import dataclass, field

from glassformer.data.wording import about, counted
from glassformer.evaluation.record import Record
from glassformer.experiments.search.rows import FEW_ROWS, PARTS

ETA = 3
SHORT = 1 / ETA  # of the steps, in the first rung
_LATE = 1.1  # a training is stopped when it has taken this much more than all of the time that was left for it
_LAST_STEPS = 5.0  # seconds
_SAFE = 1.25  # later trainings may take this much more than the first ones


class Plan(Record):
    """How many candidates each rung has, and the seconds for all rungs. A resumed search keeps it."""

    sizes: tuple[int, ...]
    seconds: float


@dataclass
class Clock:
    """The time of a search. The trainings of an earlier start count as if they had just been done.

    Attributes:
        earlier: the seconds of the trainings that were kept by an earlier start.
    """

    seconds: float
    began: float = field(default_factory=time.perf_counter)
    earlier: float = 0.0

    @property
    def used(self) -> float:
        return self.earlier + time.perf_counter() - self.began

    @property
    def left(self) -> float:
        return self.seconds - self.used

    def deadline(self, reserve: float) -> float:
        """Return when a training must end so that so many seconds are left, by `time.perf_counter`."""
        return time.perf_counter() + max(_LAST_STEPS, (self.left - reserve) * _LATE)


@dataclass(frozen=True, kw_only=True)
class Rung:
    """A stage of the search: the parts of the rows that its candidates are trained on, and the share of the steps."""

    number: int
    parts: tuple[int, ...]
    share: float

    @property
    def in_words(self) -> str:
        steps = "a third of the steps" if self.share < 1 else "all steps"
        which = f"part {self.parts[0] + 1}" if len(self.parts) == 1 else f"parts {self.parts[0] + 1}–{PARTS}"
        return f"{steps}, {which} of the rows"


RUNGS = (
    Rung(number=1, parts=(0,), share=SHORT),
    Rung(number=2, parts=(0,), share=1.0),
    Rung(number=3, parts=tuple(range(1, PARTS)), share=1.0),
)


def rung_sizes(count: int, rungs: int) -> tuple[int, ...]:
    """Return how many candidates each rung has: a third of those before, at least the recipe as it is and another.

    Args:
        rungs: the number of rungs that have any.
    """
    sizes = [min(count, max(2, math.ceil(count / ETA**number))) for number in range(rungs)]
    return (*sizes, *[0] * (len(RUNGS) - rungs))


def too_short(clock: Clock, needed: float, trial: float, measuring: float, searches: int) -> str:
    """Say that the time is too short, and why.

    Args:
        measuring: the seconds of a training on all rows of the search, which measures a choice.
    """
    why = (
        f"a trial takes about {about(trial)}, and each of the two trainings that measure the choice {about(measuring)}"
    )
    if searches > 1:
        why += f"; with fewer than {FEW_ROWS:,} rows, a table needs {counted(searches, 'such search', 'such searches')}"
    minutes = math.ceil(_SAFE * needed / 60)
    return f"`minutes={clock.seconds / 60:g}` is too short: {why}. Give at least {minutes} minutes"
