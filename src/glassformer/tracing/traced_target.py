"""What becomes of the scores of a text, in a trace: `targets/labels/tracing.py`, `targets/number/tracing.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from glassformer.data.arrays import Array, DoubleArray
from glassformer.tracing.steps import Matrix


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An answer, and what is traced back.

    Attributes:
        names: of the scores.
        label, rival: the gradients are those of the score of `label` minus that of `rival`, if there is one.
        direction: (width,) the same: `scores @ direction`.
        answer: the answer in words.
    """

    names: tuple[str, ...]
    label: str
    rival: str | None
    direction: DoubleArray
    answer: str


@dataclass(frozen=True, kw_only=True)
class TracedTarget:
    """What a trace shows of a kind of answer.

    Attributes:
        score: what a score is called.
        outcome: takes the target and the answer to a single text.
        steps: takes the target, the name of the step with the scores, and the scores (width,); yields what follows.
    """

    score: str
    outcome: Callable[[Any, Any], Outcome]
    steps: Callable[[Any, str, Array], Iterator[Matrix]]
