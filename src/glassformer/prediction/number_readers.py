"""What the answer with a number depends on beside its readers: the scale, their weights, and the held-out rows.

Without PyTorch, which exported models do not need.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from glassformer.counting.reader import HEAVIEST

Distances = Annotated[tuple[Annotated[float, Field(ge=0)] | None, ...], Field(min_length=99, max_length=99)]


class Scale(BaseModel):
    """The numbers of the training rows. Both readers learn (number − mean) / deviation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    mean: float
    deviation: float = Field(gt=0)
    lowest: float
    highest: float


class NumberReaders(BaseModel):
    """How both readers add up, on the scale of training: bias + counting · ridge + transformer · transformer.

    None means that there is no counting reader. Beside another reader, one of weight 0 is not asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    bias: float
    counting: float | None = Field(ge=0, le=HEAVIEST)
    transformer: float = Field(ge=0, le=HEAVIEST)

    @property
    def counting_alone(self) -> bool:
        return self.counting is not None and self.transformer == 0


class ReaderAlone(BaseModel):
    """A reader that answers alone, on the scale of training: bias + weight · its answer, fitted to held-out rows."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    r2: float
    bias: float
    weight: float


class HeldOutNumbers(BaseModel):
    """The answers to rows that the readers had not learned (`held_out` in `metrics.json`)."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    rows: int = Field(ge=1)
    folds: int = Field(ge=1)
    r2: float
    """The share of the variance that the answers explain."""
    mae: float
    spearman: float | None
    counting: ReaderAlone | None
    transformer: ReaderAlone | None
    """None if there is no such reader, or if it was not trained."""
    distances: Distances
    """For 1%, 2%, … 99%: the distance from the answer within which the right number of so many new texts should lie.
    None if there are too few rows (split conformal prediction: Lei et al. 2018, algorithm 2)."""
