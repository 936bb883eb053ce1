"""Labels and numbers of held-out rows that a model doubts, as its folder remembers them. Without PyTorch."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field


class Doubted(BaseModel):
    """A row whose label or number is doubtful."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    row: int = Field(ge=1)
    label: str
    """The label or the number, as the table has it."""


class DoubtedLabel(Doubted):
    """`probability` is that of the suggested label."""

    suggested: str
    probability: float = Field(ge=0, le=1)


class DoubtedNumber(Doubted):
    """A number that is far from the answer, beyond what the errors of other rows explain."""

    answer: float


Row = TypeVar("Row", bound=Doubted)


class Doubts(BaseModel, Generic[Row]):
    """What the answers to held-out rows say about their labels (in `metrics.json`). It has no texts."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    source: str
    """The table that `row` counts in: the training table, or that of the validation rows."""
    rows: int = Field(ge=1)
    """How many rows were held out."""
    doubtful: int = Field(ge=0)
    """How many of them have a doubtful label."""
    listed: tuple[Row, ...]
    """The most doubtful of these rows, the most doubtful first."""


LabelDoubts = Doubts[DoubtedLabel]
NumberDoubts = Doubts[DoubtedNumber]


def doubts_in(metrics: Mapping[str, Any]) -> Doubts[Any] | None:
    """Return what the contents of `metrics.json` say of doubtful rows. None if there are none."""
    for key, kind in (("label_doubts", LabelDoubts), ("number_doubts", NumberDoubts)):
        if key in metrics:
            found = kind.model_validate(metrics[key])
            return found if found.doubtful else None
    return None
