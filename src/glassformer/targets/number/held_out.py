"""What an answer with a number depends on: the scale of the training rows, and the answers to held-out rows.

Without PyTorch, which exported models do not need.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from glassformer.data.arrays import FloatArray
from glassformer.targets.kept_rows import KeptNumbers

Share = Annotated[float, Field(ge=0, le=1)]
Distances = Annotated[tuple[Annotated[float, Field(ge=0)] | None, ...], Field(min_length=99, max_length=99)]


class Scale(BaseModel):
    """The numbers of the training rows. All readers learn (number − mean) / deviation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    mean: float
    deviation: float = Field(gt=0)
    lowest: float
    highest: float


class Mean(BaseModel):
    """A mean over texts, and the standard deviation of one text."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    mean: float
    sd: float = Field(ge=0)

    @classmethod
    def of(cls, values: np.ndarray[Any, Any] | Sequence[float]) -> Self:
        """Return the mean of at least one value."""
        return cls(mean=round(float(np.mean(values)), 6), sd=round(float(np.std(values)), 6))


def share_of(share: float) -> Mean:
    """Return a share of texts as the mean of a figure that is 1 or 0."""
    return Mean(mean=share, sd=math.sqrt(share * (1 - share)))


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
    readers: dict[str, ReaderAlone]
    """Each reader that answered the held-out rows."""
    cut_short: bool = Field(default=False, exclude_if=lambda cut: not cut)
    """Whether the training of the transformer ended early, as it did not help on the first of these rows."""
    known: int | None = Field(default=None, exclude_if=lambda known: known is None)
    """Of how many rows the right number is known. None: all. Of a student, the figures compare with its teacher."""
    distances: Distances
    """For 1%, 2%, … 99%: the distance from the answer within which the right number of so many new texts should lie.
    None if there are too few rows (split conformal prediction: Lei et al. 2018, algorithm 2)."""
    answer: Mean
    """The mean answer."""
    unseen_share: Mean | None = None
    """See `HeldOutAnswers`, also for the next one."""
    unlike_training: Share | None = None
    kept: KeptNumbers | None = Field(default=None, exclude_if=lambda kept: kept is None)


def unseen_figures(unseen: FloatArray, threshold: float) -> dict[str, Any]:
    """Return the figures `unseen_share` and `unlike_training` of held-out rows (see `HeldOutAnswers.of`)."""
    return {
        "unseen_share": Mean.of(unseen),
        "unlike_training": round(float(np.mean(unseen > np.float32(threshold))), 6),
    }
