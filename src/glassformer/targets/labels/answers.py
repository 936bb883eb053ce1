"""Answers with labels: one for each text, or several."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from glassformer.data.arrays import BoolArray, FloatArray
from glassformer.data.wording import decimals, label_cell, label_name, label_text
from glassformer.errors import UsageError
from glassformer.targets.answers import Answers
from glassformer.targets.costs import Costs
from glassformer.targets.labels.levels import Tree
from glassformer.targets.probabilities import confidences_of, given_by

PATH: dict[str, type] = {"path": str, "path_probability": float}
"""The keys of an answer with levels, after the prediction."""
ABOUT_PATHS = (
    "the path ends at the last level that is more likely right than wrong; its probability is the sum of those of its "
    "labels"
)


@dataclass(frozen=True, kw_only=True)
class LabelAnswers(Answers):
    """The labels of some texts, with probabilities.

    The row of `probs` of an empty text is the model's answer to a text without words.

    Attributes:
        probs: (texts, n_classes) calibrated probabilities. Rows sum to 1; with `multilabel`, each label has a
            probability of its own.
        readers: the logits (texts, n_classes) of each reader, divided by the temperature. `probs` are the probabilities
            of their sum.
        costs: what wrong answers cost. None: the answers are the most probable labels.
        review_below: an answer of a lower confidence needs review. None: nobody asked, and `costs` may say it.
    """

    per_text: ClassVar = ("probs",)
    keys: ClassVar[tuple[str, ...]] = ("confidence", "probabilities")
    text_columns: ClassVar[tuple[str, ...]] = ("prediction",)

    labels: tuple[Any, ...]
    multilabel: bool
    probs: FloatArray
    costs: Costs | None = None
    review_below: float | None = None

    @cached_property
    def given(self) -> BoolArray:
        """Which labels are the answer: (texts, n_classes)."""
        return given_by(self.probs, multilabel=self.multilabel, costs=self.costs)

    @cached_property
    def named(self) -> list[Any]:
        """The label of each text, also of texts without a word.

        With `multilabel`, it is a list of labels: without costs, those with a probability of at least a half.
        """
        if self.multilabel:
            return [[self.labels[i] for i in np.flatnonzero(row)] for row in self.given]
        return [self.labels[i] for i in self.given.argmax(axis=1)]

    def predictions(self) -> list[Any]:
        """Return the same as `named`, but None for an empty text."""
        return [None if empty else label for label, empty in zip(self.named, self.empty, strict=True)]

    @cached_property
    def confidences(self) -> FloatArray:
        """The probability of each predicted label; with `multilabel`, that of the least certain decision."""
        return confidences_of(self.probs, multilabel=self.multilabel, costs=self.costs)

    @property
    def needs_review(self) -> BoolArray | None:
        """Which answers have a lower confidence than `review_below`, or cost more than asking a person (texts,).

        None without either.
        """
        if self.review_below is not None:
            return self.confidences < self.review_below
        return None if self.costs is None or self.costs.review is None else self.costs.asked(self.probs)

    def label_sets(self, least: float) -> list[list[Any]]:
        """Return the labels of each text with at least this probability, the most probable one first."""
        return [[label for label, prob in self.ranked(row) if prob >= least] for row in range(len(self.probs))]

    @property
    def paths(self) -> list[tuple[str, float] | None]:
        """See `PathAnswers`. Raises `UsageError`: the labels have no levels."""
        raise UsageError("the labels of this model have no levels; train with `levels=' > '`, or what separates them")

    def margins(self) -> dict[str, FloatArray]:
        """Return what each reader adds to the margin of each prediction, in logits: (texts,).

        The margin is the logit of the predicted label minus that of the most probable other one, which is the
        logarithm of the ratio of their probabilities. With `multilabel` it is the logit of the least certain label,
        positive if it speaks for the decision. A reader below 0 speaks for another answer.
        """
        rows = np.arange(len(self.probs))
        if self.multilabel:
            least = np.where(self.given, self.probs, 1 - self.probs).argmin(axis=1)
            sign = np.where(self.given[rows, least], 1, -1)
            return {name: sign * logits[rows, least] for name, logits in self.readers.items()}
        if self.probs.shape[1] == 1:
            return {name: logits[:, 0] for name, logits in self.readers.items()}
        first = self.given.argmax(axis=1)
        second = np.where(self.given, -1, self.probs).argmax(axis=1)
        return {name: logits[rows, first] - logits[rows, second] for name, logits in self.readers.items()}

    def ranked(self, row: int, top_k: int | None = None) -> list[tuple[Any, float]]:
        """Return (label, probability) for a text, the most probable label first."""
        order = np.argsort(-self.probs[row], kind="stable")[:top_k]
        return [(self.labels[i], float(self.probs[row, i])) for i in order]

    def counts(self) -> Counter[str]:
        """Return how often each label was given."""
        return Counter(label_cell(label) for label in self.predictions() if label is not None)

    def cells(self, row: int, top_k: int | None) -> list[str]:
        """Return the label, the most likely labels, and whether the answer needs review."""
        review = self.needs_review
        if self.empty[row]:
            return ["(no text)", "", *([] if review is None else [""])]
        ranked = "  ".join(f"{label_name(label)} {decimals(prob)}" for label, prob in self.ranked(row, top_k))
        said = [] if review is None else ["needs review" if review[row] else "automatic"]
        return [label_text(self.named[row]), ranked, *said]

    def _record(self, row: int, top_k: int | None) -> dict[str, Any]:
        return {
            "prediction": self.named[row],
            "confidence": round(float(self.confidences[row]), 6),
            "probabilities": {label_name(label): round(prob, 6) for label, prob in self.ranked(row, top_k)},
        }

    def _added(self) -> dict[str, list[float]]:
        return {  # without −0.0
            name: [round(margin, 6) + 0.0 for margin in margins.tolist()] for name, margins in self.margins().items()
        }

    def _columns(self) -> dict[str, Any]:
        labels = [None if label is None else label_cell(label) for label in self.predictions()]
        return {"prediction": labels} | {
            name: [round(value, 6) for value in values.tolist()]
            for name, values in zip(probability_columns(self.labels), [self.confidences, *self.probs.T], strict=True)
        }


@dataclass(frozen=True, kw_only=True)
class PathAnswers(LabelAnswers):
    """Answers whose labels have levels.

    The prediction is the most probable label. The path ends where the model is not sure any more.
    """

    keys: ClassVar = (*PATH, *LabelAnswers.keys)
    text_columns: ClassVar = ("prediction", "path")

    tree: Tree

    @cached_property
    def paths(self) -> list[tuple[str, float] | None]:
        """The deepest node of each text with a probability of at least a half, with this probability; or None."""
        found = zip(*(each.tolist() for each in self.tree.surest(self.probs)), strict=True)
        return [None if node < 0 else (self.tree.nodes[node], prob) for node, prob in found]

    def cells(self, row: int, top_k: int | None) -> list[str]:
        """Return the label, the path that is sure, the most likely labels, and whether the answer needs review."""
        label, *others = super().cells(row, top_k)
        path = "" if self.empty[row] else "no level is sure"
        if not self.empty[row] and (found := self.paths[row]):
            path = f"sure: {found[0]} {decimals(found[1])}"
        return [label, path, *others]

    def _record(self, row: int, top_k: int | None) -> dict[str, Any]:
        path, prob = self.paths[row] or (None, None)
        sure = {"path": path, "path_probability": None if prob is None else round(prob, 6)}
        return {"prediction": self.named[row]} | sure | super()._record(row, top_k)

    def _columns(self) -> dict[str, Any]:
        columns = super()._columns()
        paths = [path or (None, None) for path in self.paths]
        sure = {"path": [path for path, _ in paths], "path_probability": [prob and round(prob, 6) for _, prob in paths]}
        return {"prediction": columns["prediction"]} | sure | columns


def probability_columns(labels: tuple[Any, ...]) -> list[str]:
    """Return the names of the columns with the confidence and the probability of each label."""
    return ["confidence", *(f"probability_{label_name(label)}" for label in labels)]
