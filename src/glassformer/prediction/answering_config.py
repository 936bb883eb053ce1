"""What a classifier needs to answer: its labels, its temperature, and the weights of its readers.

The `config.json` of a model folder and of an exported model both hold it. Without PyTorch.
"""

from __future__ import annotations

from collections import Counter
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.counting.reader import HEAVIEST
from glassformer.data.inputs import Inputs
from glassformer.data.tokenizers import TokenizerConfig
from glassformer.data.wording import label_name
from glassformer.prediction.probabilities import TEMPERATURE_BOUNDS
from glassformer.prediction.unlike import UnlikeConfig


class ReaderConfig(BaseModel):
    """How the logits of a reader enter the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    weight: float = Field(ge=0, le=HEAVIEST)
    """The factor of the reader's logits in the sum of both readers. With 0 the reader is not asked."""
    temperature: float = Field(ge=TEMPERATURE_BOUNDS[0], le=TEMPERATURE_BOUNDS[1])
    """The temperature of the reader's weighted logits if it answers alone."""


class Readers(BaseModel):
    """The two readers of a classifier."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    counting: ReaderConfig
    transformer: ReaderConfig

    @model_validator(mode="after")
    def _one_answers(self) -> Self:
        if self.counting.weight == self.transformer.weight == 0:
            raise ValueError("readers: both have the weight 0")
        return self

    @property
    def counting_alone(self) -> bool:
        return self.transformer.weight == 0


class AnsweringConfig(BaseModel):
    """The fields of `config.json` that answers depend on."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    vocab_size: int
    tokenizer: TokenizerConfig
    labels: tuple[str | int | float | bool, ...] = Field(min_length=1)
    multilabel: bool
    temperature: float = Field(ge=TEMPERATURE_BOUNDS[0], le=TEMPERATURE_BOUNDS[1])
    readers: Readers | None = None
    """The weights of the counting reader and the transformer. None if the transformer answers alone."""
    unlike: UnlikeConfig | None = None
    """When a text is unlike the training data. None if training did not find out: the folder has an older format."""
    inputs: Inputs | None = Field(default=None, exclude_if=lambda inputs: inputs is None)
    """What the model reads, if a row has several inputs. None if it is one text."""

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        names = Counter(map(label_name, self.labels))
        if twice := [name for name, count in names.items() if count > 1]:
            raise ValueError(f"labels: {twice[0]!r} occurs twice")
        return self

    @property
    def n_classes(self) -> int:
        return len(self.labels)

    @property
    def answers_by_counting(self) -> bool:
        """Whether the counting reader answers alone, as the transformer has no weight."""
        return self.readers is not None and self.readers.counting_alone
