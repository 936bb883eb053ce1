"""What a model needs to answer: its target and the weights of its readers.

The `config.json` of a model folder and of an exported model both hold it. Without PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.data.inputs import Inputs
from glassformer.data.tokenizers import TokenizerConfig
from glassformer.readers.counting.reader import HEAVIEST
from glassformer.readers.counting.unlike import UnlikeConfig
from glassformer.targets.answers import Reader
from glassformer.targets.labels.target import Classes, Labels, LabelValue, OrderedClasses, SeveralLabels, labels_of
from glassformer.targets.number.target import Number
from glassformer.targets.probabilities import TEMPERATURE_BOUNDS

AnyTarget = Annotated[Classes | OrderedClasses | SeveralLabels | Number, Field(discriminator="kind")]
LEAST_WEIGHT = 1e-9
"""The weight of a reader of numbers that is worse than their mean, if there is no other reader."""


class ReaderConfig(BaseModel):
    """How the scores of a reader enter the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    weight: float = Field(ge=0, le=HEAVIEST)
    """The factor of the reader's scores in the sum of both readers. With 0 the reader is not asked."""
    temperature: float = Field(default=1.0, ge=TEMPERATURE_BOUNDS[0], le=TEMPERATURE_BOUNDS[1])
    """The temperature of the reader's weighted logits if it answers alone. A number has none."""


class Readers(BaseModel):
    """The two readers of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    counting: ReaderConfig
    transformer: ReaderConfig

    @classmethod
    def weighing(cls, counting: float | None, transformer: float) -> Self:
        """Return readers of these weights. None means that there is no counting reader. One always has a weight."""
        weights = {"counting": counting or 0.0, "transformer": transformer}
        if not any(weights.values()):
            weights["transformer" if counting is None else "counting"] = LEAST_WEIGHT
        return cls(**{name: ReaderConfig(weight=weight) for name, weight in weights.items()})

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

    formats: ClassVar[dict[str, str]] = {}
    """The values of `format` for labels and for a number."""

    vocab_size: int
    tokenizer: TokenizerConfig
    target: AnyTarget
    readers: Readers | None = None
    """The weights of the counting reader and the transformer. None if the transformer answers alone."""
    unlike: UnlikeConfig | None = None
    """When a text is unlike the training data. None if training did not find out: the folder has an older format."""
    inputs: Inputs | None = Field(default=None, exclude_if=lambda inputs: inputs is None)
    """What the model reads, if a row has several inputs. None if it is one text."""

    @model_validator(mode="before")
    @classmethod
    def _of_older_formats(cls, found: Any) -> Any:
        if not isinstance(found, Mapping):
            return found
        fields = _with_target(found)
        target = fields["target"]
        number = target.get("kind") == "number" if isinstance(target, Mapping) else isinstance(target, Number)
        return {"format": cls.formats["number" if number else "labels"]} | fields if cls.formats else fields

    @property
    def label_target(self) -> Labels:
        """The target. Raises `UsageError` if it is a number."""
        return labels_of(self.target)

    @property
    def labels(self) -> tuple[LabelValue, ...]:
        return self.label_target.labels

    @property
    def multilabel(self) -> bool:
        return self.label_target.multilabel

    @property
    def ordered(self) -> bool:
        return self.label_target.ordered

    @property
    def temperature(self) -> float:
        return self.label_target.temperature

    @property
    def n_classes(self) -> int:
        return self.target.width

    @property
    def weights(self) -> dict[Reader, float]:
        """The weight of each reader that the model has. Those of weight 0 are not asked."""
        if self.readers is None:
            return {"transformer": 1.0}
        if not self.readers.counting.weight:
            return {"transformer": self.readers.transformer.weight}
        return {"counting": self.readers.counting.weight, "transformer": self.readers.transformer.weight}

    @property
    def answers_by_counting(self) -> bool:
        """Whether the counting reader answers alone, as the transformer has no weight."""
        return self.readers is not None and self.readers.counting_alone


def _with_target(found: Mapping[str, Any]) -> dict[str, Any]:
    """Read the fields of formats before 8, in which labels and numbers had fields of their own at the top level."""
    fields = dict(found)
    if "scale" in fields:
        readers = fields.get("readers")
        fields["target"] = {"kind": "number", "column": fields.get("target"), "scale": fields.pop("scale")}
        if isinstance(readers, Mapping) and "bias" in readers:
            fields["target"]["bias"] = readers["bias"]
            fields["readers"] = Readers.weighing(readers.get("counting"), readers.get("transformer", 0.0))
    elif "target" not in fields:
        kind = "several" if fields.pop("multilabel", False) else "classes"
        kind = "ordered" if fields.pop("ordered", False) else kind
        moved = {name: fields.pop(name) for name in ("labels", "temperature") if name in fields}
        fields["target"] = {"kind": kind, **moved}
    return fields
