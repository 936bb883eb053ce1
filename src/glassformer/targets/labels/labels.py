"""How labels are checked: one label for each text, ordered or not, or several."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from glassformer.data.arrays import Array, Numbers
from glassformer.data.in_memory import as_table
from glassformer.data.labels import LabelSet, in_order
from glassformer.data.spellings import flat_labels
from glassformer.data.table import Table
from glassformer.data.wording import counted, decimals, share_in_percent
from glassformer.errors import UsageError, quoted
from glassformer.labels.answering import held_out_probabilities, rows_of
from glassformer.labels.doubts import doubtful
from glassformer.labels.findings import DROP, NONE, LabelCheck
from glassformer.labels.learning_curve import LearningCurve, learning_curve, right_rows
from glassformer.labels.repeats import OnProgress
from glassformer.labels.truth import Suggested, Truth, Unsure
from glassformer.readers.counting.fitting import fit_counting
from glassformer.readers.reader import Fold, Rows
from glassformer.targets.probabilities import THRESHOLD, confidences_of, probabilities


class OneLabel(Truth):
    """One label for each text. The answers are probabilities (rows, labels)."""

    to_type: ClassVar = "a label"
    measure: ClassVar = "probability"
    measure_of_new: ClassVar = "probability"
    one_answer: ClassVar = "the most frequent label"

    @classmethod
    def of(cls, table: Table, separator: str | None = None, *, fold: bool = False) -> Truth:
        return (SeveralLabels if table.multilabel else OneLabel)(table, separator, fold=fold)

    @classmethod
    def in_memory(cls, texts: Iterable[str], labels: Iterable[Any], groups: Any) -> Table:
        return as_table(texts, labels, groups=groups)[0]

    @cached_property
    def label_set(self) -> LabelSet:
        return LabelSet.from_table(self.table)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The labels, also of a table that cannot be learned yet, as a new class has a single row."""
        return self.table.order or in_order(flat_labels(self.table).unique().to_list())

    @cached_property
    def values(self) -> Array:
        return self.label_set.encode(self.table)

    @property
    def in_words(self) -> str:
        return counted(len(self.names), "label")

    @cached_property
    def strata(self) -> Array:
        return self.values

    @property
    def kinds(self) -> Array:
        return self.strata

    def answers(self, texts: Sequence[str], folds: Sequence[Fold], on_progress: OnProgress) -> Array:
        return held_out_probabilities(self._rows(texts), folds, on_progress)

    def _rows(self, texts: Sequence[str]) -> Rows:
        return rows_of(texts, self.values, self.names, self.table.inputs)

    def right(self, answers: Array) -> Array:
        return answers.argmax(axis=1) == self.values

    def curve(
        self, texts: Sequence[str], folds: Sequence[Fold], answers: Array, on_progress: OnProgress
    ) -> LearningCurve | None:
        return learning_curve(self._rows(texts), folds, self.right(answers), on_progress=on_progress)

    def doubts(self, answers: Array) -> tuple[Array, Suggested, float | None]:
        found = doubtful(answers, self.values)
        return found.rows, self.suggested(answers, found.rows), found.estimated_wrong

    def suggested(self, answers: Array, rows: Array) -> Suggested:
        best = answers[rows].argmax(axis=1)
        cells = [self.names[number] for number in best]
        return Suggested(cells=cells, measures=np.round(answers[rows, best], 4))

    def agreement(self, answers: Array) -> tuple[Numbers, Numbers]:
        most_frequent = np.bincount(self.strata).argmax()
        return self.right(answers).astype(np.float64), (self.strata == most_frequent).astype(np.float64)

    def unlike(self, text: Array, answers: Array) -> Array:  # noqa: ARG002
        kinds = self.kinds
        _, first = np.unique(text, return_index=True)
        apart = kinds != kinds[first[text]]
        of_text = np.full(len(first), -1)  # the first row of each text with another label than the first of all
        rows = np.flatnonzero(apart)[::-1]
        of_text[text[rows]] = rows
        return np.where(apart, first[text], of_text[text])

    def differ(self, one: Array, other: Array, answers: Array) -> Array:  # noqa: ARG002
        return np.asarray(self.kinds[one] != self.kinds[other])

    def unsure(self, texts: Sequence[str], folds: Sequence[Fold], new: Sequence[str]) -> Unsure:
        n_classes = len(self.names)
        reader = fit_counting("tfidf", texts, self.values, n_classes=n_classes, folds=folds).reader
        answers = probabilities(reader.scores(new), multilabel=self.label_set.multilabel)
        order = np.argsort(self.margins(answers), kind="stable")
        return Unsure(order=order, suggested=self.suggested(answers, np.arange(len(new))), reader=reader)

    def margins(self, answers: Array) -> Array:
        """Return how sure the model is of each answer: the difference of its two highest probabilities."""
        highest = np.sort(answers, axis=1)
        return highest[:, -1] - highest[:, -2]

    def agreement_in_words(self, check: LabelCheck) -> str:
        return (
            f"{share_in_percent(check.agreement)} of the answers agree with the label. The most frequent label has "
            f"{share_in_percent(check.majority)} of the rows."
        )

    def figures(self, check: LabelCheck) -> dict[str, float | None]:
        return {
            "agreement": round(check.agreement, 4),
            "most_frequent_label": round(check.majority, 4),
            "estimated_wrong_labels": None if check.estimated_wrong is None else round(check.estimated_wrong, 1),
        }

    def measured(self, measure: float) -> str:
        return f"probability {decimals(measure)}"

    def checked(self, new: str, place: str, *, new_class: bool = False) -> str | None:
        return self.checked_name(new, place, new_class=new_class)


class SeveralLabels(OneLabel):
    """Several labels for each text, or none: each is a yes or no of its own, with a probability of yes."""

    to_type: ClassVar = f"all labels of the row, {NONE}"
    one_answer: ClassVar = "the more frequent of yes and no for each label"

    @cached_property
    def cells(self) -> list[str]:
        places = {name: place for place, name in enumerate(self.names)}
        return [self.separator.join(sorted(given, key=places.__getitem__)) for given in self.table.frame["label"]]

    def _cells(self, given: Array) -> list[str]:
        names = np.array(self.names, dtype=object)
        return [self.separator.join(names[row]) for row in given]

    @cached_property
    def strata(self) -> Array:
        """The number of the set of labels of each row."""
        _, numbers = np.unique(self.values, axis=0, return_inverse=True)
        return np.asarray(numbers.reshape(-1))

    def right(self, answers: Array) -> Array:
        return right_rows(answers - THRESHOLD, self.values)

    def agreement(self, answers: Array) -> tuple[Numbers, Numbers]:
        """Return the share of yes and no of each row that agrees: each of them is doubted by itself."""
        given = self.values > 0
        return ((answers >= THRESHOLD) == given).mean(axis=1), ((given.mean(axis=0) > 0.5) == given).mean(axis=1)

    def doubts(self, answers: Array) -> tuple[Array, Suggested, float | None]:
        """Doubt each yes and no. What is suggested changes those that are doubtful, and leaves the others."""
        changed, wrong = self.values > 0, 0.0
        least = np.ones(len(changed))  # the lowest probability of a doubtful yes or no of each row
        for label, (probs, given) in enumerate(zip(answers.T, self.values.T, strict=True)):
            found = doubtful(np.stack([1 - probs, probs], axis=1), given.astype(np.int64))
            changed[found.rows, label] = ~changed[found.rows, label]
            sure = np.where(given > 0, probs, 1 - probs)[found.rows]
            least[found.rows] = np.minimum(least[found.rows], sure)
            wrong += found.estimated_wrong
        rows = np.flatnonzero((changed != (self.values > 0)).any(axis=1))
        rows = rows[np.argsort(least[rows], kind="stable")]
        measures = np.round(1 - least[rows], 4)
        return rows, Suggested(cells=self._suggestions(changed[rows]), measures=measures), wrong

    def suggested(self, answers: Array, rows: Array) -> Suggested:
        probs = answers[rows]
        measures = np.round(confidences_of(probs, multilabel=True), 4)
        return Suggested(cells=self._suggestions(probs >= THRESHOLD), measures=measures)

    def _suggestions(self, given: Array) -> list[str]:
        return [cell or NONE for cell in self._cells(given)]

    def margins(self, answers: Array) -> Array:
        """Return the mean entropy of the labels, negative: (texts,)."""
        inside = np.clip(answers, 1e-12, 1 - 1e-12)
        return (inside * np.log(inside) + (1 - inside) * np.log(1 - inside)).mean(axis=1)

    def agreement_in_words(self, check: LabelCheck) -> str:
        return (
            f"{share_in_percent(check.agreement)} of the answers, a yes or no for each label, agree with the labels. "
            f"Always giving the more frequent one would agree with {share_in_percent(check.majority)}."
        )

    def checked(self, new: str, place: str, *, new_class: bool = False) -> str | None:
        if new.lower() == NONE and new not in self.names:
            return ""
        parts = [self.checked_name(part.strip(), place, new_class=new_class) for part in new.split(self.separator)]
        given = [part for part in parts if part is not None]
        if given and len(given) < len(parts):
            raise UsageError(f"{place}: {quoted(DROP)} leaves out the row, so it stands alone, without other labels")
        return self.separator.join(sorted(set(given), key=self.names.index)) if given else None


PART = OneLabel
