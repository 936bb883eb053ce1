"""What a server shows of a kind of answer: `targets/labels/serving.py`, `targets/number/serving.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from glassformer.data.arrays import Array
from glassformer.evaluation.record import Estimate


@dataclass(frozen=True, kw_only=True)
class ServedTarget:
    """What a server shows of a kind of answer.

    Attributes:
        evaluation: what `glassformer evaluate` writes about it.
        figures: picks the figures of a model that are shown from the metrics of an evaluation.
        of_contestant: picks those of a contestant on a table that was sent, as JSON values.
        scores: takes a target, and what a reader adds to its answers (`Answers.readers`). Returns the weighted scores.
    """

    evaluation: type[BaseModel]
    figures: Callable[[Any], Mapping[str, Estimate]]
    of_contestant: Callable[[Any], dict[str, Any]]
    remark: Callable[[Any], str | None]
    scores: Callable[[Any, Array], Array]
