"""What is asked about an answer with labels: the margin between a label and its rival, in logits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from glassformer.data.arrays import DoubleArray, FloatArray
from glassformer.data.wording import label_cell, label_name, label_text, percent
from glassformer.errors import InputError, UsageError, brief_value
from glassformer.explanation.asked import Asked, Goal
from glassformer.explanation.shares import signed
from glassformer.targets.costs import Costs
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.labels.target import Labels

_LABELS_SHOWN = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class AskedLabel(Asked):
    """Why a label and not another one.

    The margin is the logit of `label` minus that of `rival`: the logarithm of the ratio of their probabilities. With
    several labels per text there is no rival, and the margin is the logit of `label`.

    Attributes:
        prediction: a label; with several labels per text a list of labels, which may be empty.
        label: the explained label: the one that was asked for, or the answer; with several labels per text, the most
            probable one.
        rival: the most probable other label, or None.
        costs: what wrong answers cost, if the answers follow that.
    """

    whole: ClassVar = "margin"
    unit: ClassVar = ", in logits"
    columns: ClassVar = {"prediction": str, "explained": str, "rival": str, "probability": float}
    word_columns: ClassVar = ("words_for", "words_against")
    share_key: ClassVar = "share"
    least: ClassVar = 1.0

    number: int
    label: Any
    rival: Any
    probability: float
    most_probable: bool
    target: Labels
    costs: Costs | None

    @classmethod
    def of(
        cls,
        target: Labels,
        answers: LabelAnswers,
        *,
        label: Any = None,
        above: float | None = None,
        below: float | None = None,
    ) -> Self:
        if above is not None or below is not None:
            setting = "below" if above is None else "above"
            raise UsageError(f"`{setting}=` is for models that answer with a number; this one answers with labels")
        labels, probs = target.labels, answers.probs[0].astype(np.float64)
        order = np.argsort(-probs, kind="stable").tolist()
        first = order[0] if target.multilabel else int(answers.given[0].argmax())
        if label is not None:
            first = _number_of(label, list(labels))
        others = [] if target.multilabel else [number for number in order if number != first]
        direction = np.zeros(len(labels))
        direction[first] = 1
        if others:
            direction[others[0]] = -1
        return cls(
            prediction=answers.named[0],
            direction=direction / target.temperature,
            number=first,
            label=labels[first],
            rival=labels[others[0]] if others else None,
            probability=float(probs[first]),
            most_probable=first == int(probs.argmax()),
            target=target,
            costs=target.rule,
        )

    @property
    def named(self) -> str:
        return str(self.label)

    @property
    def headline(self) -> str:
        """The explained label, its probability, and the label that it is compared with; or the other given labels."""
        explained = f"{self.label} ({percent(self.probability)})"
        if self.prediction == []:
            return f"no label; nearest: {explained}" if self.most_probable else f"no label; explained: {explained}"
        if self.also_given:
            given = ", ".join(map(str, self.also_given))
            is_given = self.label in self.prediction
            return f"{explained}; also given: {given}" if is_given else f"{explained}, not given; given: {given}"
        if self.rival is None:
            return explained
        return (
            f"{explained}, rather than {f'the answer, {self.rival}' if self.rival == self.prediction else self.rival}"
        )

    @property
    def why(self) -> str:
        return "Why no label?" if self.prediction == [] else super().why

    @property
    def sides(self) -> tuple[str, str]:
        return f"speaks for {self.label}", "speaks against it"

    @property
    def also_given(self) -> list[Any]:
        """With several labels per text, the labels of the answer beside the explained one."""
        return [label for label in self.prediction if label != self.label] if isinstance(self.prediction, list) else []

    def written(self, share: float) -> str:
        return signed(share)

    def rounded(self, share: float) -> float:
        return round(share, 6)

    def as_json(self) -> dict[str, Any]:
        return {
            "prediction": self.prediction,
            **self.about,
            "probability": self.probability,
            "most_probable": self.most_probable,
        }

    @property
    def about(self) -> dict[str, Any]:
        return {"label": self.label, "rival": self.rival}

    def cells(self) -> list[Any]:
        rival = None if self.rival is None else label_cell(self.rival)
        return [label_cell(self.prediction), label_cell(self.label), rival, round(self.probability, 6)]

    @property
    def wanted(self) -> str:
        return "turns the answer"

    def goals(self, scores: FloatArray) -> tuple[Goal, ...]:
        sign = 1 if self._leads(scores)[0] > 0 else -1
        return (Goal(sign=sign, gaps=lambda changed: sign * self._leads(changed), reached="turns"),)

    def _leads(self, scores: FloatArray) -> DoubleArray:
        """Return by how much the label leads all others, or the threshold if there may be several labels.

        It is the logit that leads, or what the other answers cost more.
        """
        if self.costs is not None:
            return self._saves(self.costs, scores)
        logits = scores.astype(np.float64)
        mine = logits[:, self.number]
        if self.rival is None:
            return mine
        return mine - np.delete(logits, self.number, axis=1).max(axis=1)

    def _saves(self, costs: Costs, scores: FloatArray) -> DoubleArray:
        expected = costs.expected(self.target.values({"": scores}))
        mine, others = expected[:, self.number], np.delete(expected, self.number, axis=1)
        return mine[:, 0] - mine[:, 1] if self.target.multilabel else others.min(axis=1) - mine

    def after(self, answers: LabelAnswers) -> dict[str, Any]:
        return {
            "prediction": answers.named[0],
            "confidence": float(answers.confidences[0]),
            "probability": float(answers.probs[0, self.number]),
        }

    def shown(self, after: Mapping[str, Any]) -> str:
        return f"{label_text(after['prediction'])} ({percent(after['confidence'])})"


def _number_of(label: Any, labels: list[Any]) -> int:
    """Return the number of a label. Raises `InputError` if there is no such label."""
    for number, known in enumerate(labels):
        if known == label or str(label) in (str(known), label_name(known)):
            return number
    known = ", ".join(brief_value(each) for each in labels[:_LABELS_SHOWN])
    raise InputError(f"`label={brief_value(label)}`: the model has no such label; it has {known}")


PART = AskedLabel
