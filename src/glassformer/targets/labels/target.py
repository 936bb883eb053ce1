"""Targets with labels: classes, ordered classes, and several labels per text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import not_
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from glassformer.data.arrays import DoubleArray, FloatArray
from glassformer.data.wording import label_name, listed
from glassformer.errors import UsageError, brief_value
from glassformer.targets.answers import Scores
from glassformer.targets.costs import CostRow, Costs, in_words
from glassformer.targets.labels.answers import ABOUT_PATHS, PATH, LabelAnswers, PathAnswers, probability_columns
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.labels.levels import Tree
from glassformer.targets.number.held_out import share_of
from glassformer.targets.probabilities import TEMPERATURE_BOUNDS, probabilities
from glassformer.targets.review import Thresholds
from glassformer.targets.target import Followed, Target

LabelValue = str | int | float | bool
_SHOWN, _KNOWN = 20, 10


class Labels(Target):
    """Labels with probabilities. Scores are logits."""

    labels: tuple[LabelValue, ...] = Field(min_length=1)
    """In the order of the logits."""
    temperature: float = Field(ge=TEMPERATURE_BOUNDS[0], le=TEMPERATURE_BOUNDS[1])
    costs: tuple[CostRow, ...] = Field(default=(), exclude_if=not_)
    """What wrong answers cost. Empty: each answer is the most probable one."""

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        names = Counter(map(label_name, self.labels))
        if twice := [name for name, count in names.items() if count > 1]:
            raise ValueError(f"labels: {twice[0]!r} occurs twice")
        return self

    @property
    def rule(self) -> Costs | None:
        """The same in the order of the labels."""
        return Costs.of(self.costs, self.names, multilabel=self.multilabel)

    @property
    def asks(self) -> bool:
        return self.rule is not None and self.rule.review is not None

    @property
    def width(self) -> int:
        return len(self.labels)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(map(label_name, self.labels))

    @property
    def names(self) -> tuple[str, ...]:
        return self.outputs

    def held_out(self, metrics: Mapping[str, Any]) -> HeldOutAnswers | None:
        found = metrics.get("held_out_answers")
        if found is None:
            return None
        return HeldOutAnswers.model_validate(found).under(self.costs, self.labels, multilabel=self.multilabel)

    def values(self, scores: Mapping[str, Scores]) -> DoubleArray:
        total = np.sum(list(scores.values()), axis=0)
        return probabilities(total, temperature=self.temperature, multilabel=self.multilabel)

    def taught(self, scores: Scores) -> Scores:
        """Return the calibrated logits."""
        return scores / self.temperature

    def answers(self, scores: Mapping[str, Scores], held_out: Any, **about: Any) -> LabelAnswers:  # noqa: ARG002
        readers = {name: logits / self.temperature for name, logits in scores.items()}
        return self.answers_of(self.values(scores).astype(np.float32), readers=readers, **about)

    def weighed(self, added: Scores) -> Scores:
        return added * self.temperature

    def answers_of(self, probs: FloatArray, **about: Any) -> LabelAnswers:
        """Return the answers with these calibrated probabilities (texts, labels)."""
        kind: dict[str, Any] = {"labels": self.labels, "multilabel": self.multilabel, "costs": self.rule}
        if (tree := self.tree) is not None:
            return PathAnswers(probs=probs, tree=tree, **kind, **about)
        return LabelAnswers(probs=probs, **kind, **about)

    @property
    def tree(self) -> Tree | None:
        """The levels of the labels, if they have some."""
        return None

    def thresholds(self, held_out: HeldOutAnswers | None) -> Thresholds:
        if held_out is not None and held_out.costs != self.costs:
            costs = f" ({in_words(held_out.costs)})" if held_out.costs else ", which had none"
            raise UsageError(
                "this model keeps too little of its held-out rows to say how sure it is under other costs than those "
                f"of its training{costs}: go back to those by `glassformer costs`, or train it again"
            )
        if held_out is None or held_out.thresholds is None:
            raise UsageError(
                "this model does not know how sure it was of held-out rows: it has none, or forgot them; "
                "train it again with some"
            )
        return held_out.thresholds

    def notes(self, held_out: Any) -> list[str]:  # noqa: ARG002
        return [f"the answers are those of the least expected cost: {said}"] if (said := in_words(self.costs)) else []

    def check_labels(self, asked: str) -> None: ...

    @property
    def _columns(self) -> dict[str, type]:
        return {"prediction": str} | dict.fromkeys(probability_columns(self.labels), float)

    def named(self, label: Any) -> Any:
        given = set(map(label_name, label if self.multilabel else [label]))
        found = [label for name, label in zip(self.names, self.labels, strict=True) if name in given]
        return found if self.multilabel else found[0]

    def check_right(self, given: Any) -> None:
        several = isinstance(given, list)
        if self.multilabel != several:
            raise UsageError("`label`: give one label, not a list" if several else "`label`: give a list of labels")
        right = given if several else [given]
        for label in right:
            if label not in self.labels:
                known = listed([*map(str, self.labels)], _KNOWN, more=" …")
                raise UsageError(f"`label={brief_value(label)}`: the model has no such label, only {known}")
        if len(set(right)) < len(right):
            raise UsageError("`label`: a label is named twice; name each once")

    def followed(self, records: Sequence[Mapping[str, Any]], held_out: HeldOutAnswers | None) -> list[Followed]:
        given = [
            {str(label) for label in (found if isinstance(found, list) else [found])}
            for found in (record["prediction"] for record in records)
        ]
        shares = [
            Followed(
                f"answer {label}",
                [label in found for found in given],
                None if held_out is None or label not in held_out.labels else share_of(held_out.labels[label]),
            )
            for label in map(str, self.labels)
        ]
        sure = [record["confidence"] for record in records]
        return [*shares, Followed("confidence", sure, None if held_out is None else held_out.confidence)]

    def described(self) -> dict[str, Any]:
        costs = {"costs": [row.model_dump() for row in self.costs]} if self.costs else {}
        return {"labels": list(self.labels), "multilabel": self.multilabel, **costs}

    @property
    def in_words(self) -> str:
        costs = f". What wrong answers cost: {in_words(self.costs)}" if self.costs else ""
        return f"Labels: {listed([*map(str, self.labels)], _SHOWN, more=', …')}{costs}"


class Classes(Labels):
    """One label per text. It may be a path through levels, such as `Food > Fruit > Apple`."""

    kind: Literal["classes"] = "classes"
    levels: str | None = Field(default=None, min_length=1, exclude_if=lambda levels: levels is None)
    """What separates two levels. None: labels have no levels."""

    @property
    def tree(self) -> Tree | None:
        return None if self.levels is None else _tree(self.names, self.levels)

    @property
    def as_labels(self) -> dict[str, Any]:
        return {**super().as_labels, "levels": self.levels}

    @property
    def _columns(self) -> dict[str, type]:
        path = {} if self.tree is None else PATH
        return {"prediction": str, **path, **super()._columns}

    def notes(self, held_out: Any) -> list[str]:
        return [*super().notes(held_out), *([] if self.tree is None else [ABOUT_PATHS])]


@lru_cache(maxsize=4)
def _tree(names: tuple[str, ...], levels: str) -> Tree:
    return Tree.of(names, levels)


class OrderedClasses(Labels):
    """One label per text. Each label is more than the one before it."""

    ordered: ClassVar = True

    kind: Literal["ordered"] = "ordered"


class SeveralLabels(Labels):
    """Several labels per text, or none. Each has a probability of its own."""

    multilabel: ClassVar = True

    kind: Literal["several"] = "several"


def labels_of(target: Target) -> Labels:
    """Return a target with labels. Raises `UsageError` if it has none."""
    target.check_labels("this")
    assert isinstance(target, Labels)
    return target


def labels_target(
    labels: Sequence[LabelValue],
    *,
    multilabel: bool = False,
    ordered: bool = False,
    levels: str | None = None,
    temperature: float = 1.0,
    costs: tuple[CostRow, ...] = (),
) -> Classes | OrderedClasses | SeveralLabels:
    """Return the target that these labels are."""
    if levels is not None:
        return Classes(labels=tuple(labels), levels=levels, temperature=temperature, costs=costs)
    kind = SeveralLabels if multilabel else OrderedClasses if ordered else Classes
    return kind(labels=tuple(labels), temperature=temperature, costs=costs)
