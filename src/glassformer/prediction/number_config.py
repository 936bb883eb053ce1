"""The contents of `config.json` and `metrics.json` in the folder of a model that answers with a number."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from glassformer.data.inputs import Inputs
from glassformer.models.build import AnyModelConfig
from glassformer.prediction.folder_config import AnyFolderConfig, FolderMetrics, Remembered, check_texts
from glassformer.prediction.folder_format import NUMBER_FORMAT
from glassformer.prediction.label_doubts import NumberDoubts
from glassformer.prediction.number_readers import HeldOutNumbers, NumberReaders, Scale
from glassformer.prediction.unlike import UnlikeConfig


class NumberMetrics(FolderMetrics):
    """`metrics.json`."""

    held_out: HeldOutNumbers | None = None
    """None if no rows were held out."""
    number_doubts: NumberDoubts | None = None
    """None if the numbers could not be doubted, or if an older version trained the model."""


class NumberFolderConfig(AnyFolderConfig):
    """`config.json` of a model that answers with a number."""

    metrics = NumberMetrics

    format: str = NUMBER_FORMAT
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
        return self.readers.counting_alone

    @property
    def seed(self) -> int:
        """The seed of the run that made the model."""
        return self.remembered.recipe.training.seed


def held_out_of(metrics: dict[str, Any]) -> HeldOutNumbers | None:
    """Return the figures of held-out rows in the contents of `metrics.json`."""
    found = metrics.get("held_out")
    return None if found is None else HeldOutNumbers.model_validate(found)
