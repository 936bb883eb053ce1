"""What a model needs to answer: its target and the weights of its readers.

The `config.json` of a model folder and of an exported model both hold it. Without PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import not_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from glassformer.data.arrays import FloatArray
from glassformer.data.inputs import Inputs
from glassformer.data.tokenizers import TokenizerConfig
from glassformer.data.wording import in_a_row
from glassformer.readers.counting.unlike import UnlikeConfig
from glassformer.readers.reader import HEAVIEST
from glassformer.targets.labels.target import Classes, OrderedClasses, SeveralLabels
from glassformer.targets.number.target import Number
from glassformer.targets.parts import folder_of
from glassformer.targets.probabilities import TEMPERATURE_BOUNDS
from glassformer.targets.target import Target

if TYPE_CHECKING:
    AnyTarget = Target  # `labels_of` and `number_of` give what a kind of answer has besides
else:
    AnyTarget = Annotated[Classes | OrderedClasses | SeveralLabels | Number, Field(discriminator="kind")]
TRANSFORMER = "transformer"
LEAST_WEIGHT = 1e-9
"""The weight of the first reader of a number, if all of them are worse than its mean."""


def named(reader: str) -> str:
    """Return a reader as people call it."""
    if reader == "rules":
        return "the list of rules"
    return f"the {reader}" if reader in (TRANSFORMER, "body", "encoder") else reader


def of_several(readers: Sequence[str], weights: Mapping[str, float]) -> str:
    """Return "both" or "all" of the readers; or if some have no weight, the names of the others."""
    asked = [named(name) for name in readers if weights.get(name)]
    return in_a_row(asked) if len(asked) < len(readers) else "both" if len(readers) == 2 else "all"


class ReaderConfig(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """How the scores of a reader enter the answer."""

    weight: float = Field(ge=0, le=HEAVIEST)
    """The factor of the reader's scores in the sum of all readers. With 0 the reader is not asked."""
    temperature: float = Field(default=1.0, ge=TEMPERATURE_BOUNDS[0], le=TEMPERATURE_BOUNDS[1])
    """The temperature of the reader's weighted logits if it answers alone. A number has none."""
    shift: tuple[float, ...] = Field(default=(), exclude_if=not_)
    """(width,) what was added to the weighted logits, so that the readers together say once how frequent labels are."""

    def alone(self, weighted: FloatArray) -> FloatArray:
        """Return the weighted logits (rows, width) that the reader gives by itself."""
        return weighted - np.array(self.shift, np.float32) if self.shift else weighted


class Readers(RootModel[dict[str, ReaderConfig]], frozen=True):
    """The readers of a model by name, in the order in which they were asked whether they help."""

    @classmethod
    def weighing(cls, weights: Mapping[str, float]) -> Self:
        """Return readers of these weights. One always has a weight."""
        given = dict(weights) if any(weights.values()) else {**weights, next(iter(weights)): LEAST_WEIGHT}
        return cls({name: ReaderConfig(weight=weight) for name, weight in given.items()})

    @model_validator(mode="after")
    def _one_answers(self) -> Self:
        if not any(each.weight for each in self.root.values()):
            raise ValueError("readers: all have the weight 0")
        if TRANSFORMER not in self.root:
            raise ValueError(f"readers: {TRANSFORMER} is missing")
        return self

    def __getitem__(self, name: str) -> ReaderConfig:
        return self.root[name] if name in self.root else ReaderConfig(weight=0)

    @property
    def counting(self) -> ReaderConfig:
        return self["counting"]

    @property
    def transformer(self) -> ReaderConfig:
        return self[TRANSFORMER]

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each reader that has one, and of the transformer."""
        return {name: each.weight for name, each in self.root.items() if each.weight or name == TRANSFORMER}


class AnsweringConfig(BaseModel):
    """The fields of `config.json` that answers depend on."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    formats: ClassVar[dict[str, str]] = {}
    """The value of `format` for each folder of `targets/`."""

    vocab_size: int
    tokenizer: TokenizerConfig
    target: AnyTarget
    readers: Readers | None = None
    """The weights of the readers. None if the transformer answers alone."""
    unlike: UnlikeConfig | None = None
    """When a text is unlike the training data. None if training was not to find out."""
    inputs: Inputs | None = Field(default=None, exclude_if=lambda inputs: inputs is None)
    """What the model reads, if a row has several inputs. None if it is one text."""

    @model_validator(mode="before")
    @classmethod
    def _with_format(cls, found: Any) -> Any:
        if not isinstance(found, Mapping) or not cls.formats:
            return found
        target = found.get("target")
        kind = target.get("kind") if isinstance(target, Mapping) else getattr(target, "kind", None)
        return {"format": cls.formats[folder_of(kind)], **found}

    @model_validator(mode="after")
    def _shifts_are_those_of_its_labels(self) -> Self:
        for name, each in () if self.readers is None else self.readers.root.items():
            if len(each.shift) not in (0, self.n_classes):
                raise ValueError(
                    f"readers: the shift of {name} has {len(each.shift)} values for {self.n_classes} labels"
                )
        return self

    @property
    def n_classes(self) -> int:
        return self.target.width

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each reader that the model has. Those of weight 0 are not asked."""
        return {TRANSFORMER: 1.0} if self.readers is None else self.readers.weights

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of the readers that answer."""
        return tuple(name for name, weight in self.weights.items() if weight)

    @property
    def asked_in_words(self) -> str:
        return " and ".join(map(named, self.asked))

    @property
    def answers_by_counting(self) -> bool:
        """Whether the counting reader answers alone, as no other has a weight."""
        return self.asked == ("counting",)

    @property
    def transformer_is_silent(self) -> bool:
        """Whether the transformer has no weight, so that it is not asked."""
        return not self.weights[TRANSFORMER]
