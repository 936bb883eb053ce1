"""Labels and numbers of held-out rows that a model doubts, as its folder remembers them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class DoubtedLabel(BaseModel):
    """The label of a row that is probably wrong. `probability` is that of the suggested label."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    row: int = Field(ge=1)
    label: str
    suggested: str
    probability: float = Field(ge=0, le=1)


class LabelDoubts(BaseModel):
    """What the answers to held-out rows say about their labels (`label_doubts` in `metrics.json`). It has no texts."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    source: str
    """The table that `row` counts in: the training table, or that of the validation rows."""
    rows: int = Field(ge=1)
    """How many rows were held out."""
    doubtful: int = Field(ge=0)
    """How many of them have a label that is probably wrong."""
    listed: tuple[DoubtedLabel, ...]
    """The most doubtful of these rows, the most doubtful first."""


class DoubtedNumber(BaseModel):
    """A row whose number is far from the answer, beyond what the errors of other rows explain."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    row: int = Field(ge=1)
    label: str
    """The number, as the table has it."""
    answer: float


class NumberDoubts(BaseModel):
    """What the answers to held-out rows say about their numbers (`number_doubts` in `metrics.json`), without texts."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    source: str
    """The table that `row` counts in: the training table, or that of the validation rows."""
    rows: int = Field(ge=1)
    """How many rows were held out."""
    doubtful: int = Field(ge=0)
    """How many of them have a doubtful number."""
    listed: tuple[DoubtedNumber, ...]
    """The most doubtful of these rows, the most doubtful first."""
