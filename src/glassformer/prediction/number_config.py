"""The contents of `config.json` and `metrics.json` in the folder of a model that answers with a number."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.counting.reader import HEAVIEST
from glassformer.data.inputs import Inputs
from glassformer.models.build import AnyModelConfig
from glassformer.prediction.folder_config import AnyFolderConfig, FolderMetrics, Remembered, check_texts
from glassformer.prediction.label_doubts import NumberDoubts
from glassformer.prediction.unlike import UnlikeConfig

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


class NumberMetrics(FolderMetrics):
    """`metrics.json`."""

    held_out: HeldOutNumbers | None = None
    """None if no rows were held out."""
    number_doubts: NumberDoubts | None = None
    """None if the numbers could not be doubted, or if an older version trained the model."""


class NumberFolderConfig(AnyFolderConfig):
    """`config.json` of a model that answers with a number."""

    metrics = NumberMetrics

    format: str = "glassformer-number"
    model: AnyModelConfig
    target: str
    """The column that was learned."""
    scale: Scale
    readers: NumberReaders
    unlike: UnlikeConfig | None = None
    inputs: Inputs | None = Field(default=None, exclude_if=lambda inputs: inputs is None)
    """What the model reads, if a row has several inputs. None if it is one text."""

    @model_validator(mode="after")
    def _reads_its_texts(self) -> Self:
        check_texts(self.model, self.inputs)
        return self

    @property
    def remembered(self) -> Remembered:
        """What the config says about its training rows."""
        return Remembered.model_validate({"data": self.data, "recipe": self.recipe, "inputs": self.inputs})

    @property
    def answers_by_counting(self) -> bool:
        """Whether the counting reader answers alone."""
        return self.readers.counting is not None and self.readers.transformer == 0

    @property
    def seed(self) -> int:
        """The seed of the run that made the model."""
        return self.remembered.recipe.training.seed


def held_out_of(metrics: dict[str, Any]) -> HeldOutNumbers | None:
    """Return the figures of held-out rows in the contents of `metrics.json`."""
    found = metrics.get("held_out")
    return None if found is None else HeldOutNumbers.model_validate(found)
