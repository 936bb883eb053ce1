"""What a server shows of a kind of answer: `targets/labels/serving.py`, `targets/number/serving.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from glassformer.evaluation.record import Estimate


@dataclass(frozen=True, kw_only=True)
class ServedTarget:
    """What a server shows of a kind of answer.

    Attributes:
        evaluation: what `glassformer evaluate` writes about it.
        figures: picks the figures that are shown from the metrics of an evaluation.
    """

    evaluation: type[BaseModel]
    figures: Callable[[Any], Mapping[str, Estimate]]
