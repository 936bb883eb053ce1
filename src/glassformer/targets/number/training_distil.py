"""What a student learns of a number: the expected number of its teacher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.data.arrays import Array, FloatArray, Numbers
from glassformer.data.labels import LabelSet
from glassformer.data.numbers import numbers_of
from glassformer.data.table import Table
from glassformer.data.wording import figure
from glassformer.errors import UsageError
from glassformer.targets.number.target import Number
from glassformer.targets.number.training import PreparedNumber, check_recipe
from glassformer.targets.number.training_regression import Regression, join_numbers
from glassformer.training.distil import Known, PreparedStudent
from glassformer.training.recipe import Recipe


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberStudent(PreparedStudent, PreparedNumber):
    """The run of a student that learns the numbers of its teacher, on the scale of the teacher's training."""

    @classmethod
    def check(cls, recipe: Recipe, temperature: float) -> None:
        check_recipe(recipe)
        if temperature != 1:
            raise UsageError(f"`temperature={temperature:g}`: a number has no probabilities to soften; leave it out")

    @classmethod
    def check_labelled(cls, table: Table, labels: LabelSet) -> None:
        if table.multilabel:
            raise UsageError(f"`multilabel=`: the teacher answers with the number {labels.names[0]!r}; leave it out")
        numbers_of(table)

    @classmethod
    def fields_of(cls, target: Number) -> dict[str, Any]:
        return {"scale": target.scale}

    @classmethod
    def measured(cls, best: Mapping[str, float], teacher: str) -> str:
        known = (
            f", and R² {figure(best['validation_r2'])} with the numbers of the table" if "validation_r2" in best else ""
        )
        agreement = figure(best["validation_agreement"])
        return f"its answers to held-out texts have R² {agreement} with those of its teacher, {teacher}{known}"

    @property
    def train_labels(self) -> FloatArray:  # one number for each text
        return super().train_labels[:, 0]

    @property
    def validation_labels(self) -> FloatArray | None:
        answers = super().validation_labels
        return None if answers is None else answers[:, 0]

    def errors(self, answers: Numbers, left_out: Numbers) -> Numbers:  # noqa: ARG002 (the teacher may err too)
        """Return the errors of the held-out texts whose number is known."""
        if self.known is None:
            return np.zeros(0)
        return (self.known.labels - answers[self.known.rows]) * self.scale.deviation

    def task(self, beside: Sequence[FloatArray] = ()) -> NumberDistillation:  # noqa: ARG002
        found = NumberDistillation(self.data, self.training, max_seq_len=self.recipe.model.max_seq_len)
        found.known = self.known
        return found


class NumberDistillation(Regression):
    """Texts with the numbers of a teacher. Nothing is learned from known numbers."""

    known: Known | None = None

    def judged(self, answers: FloatArray, truth: Array) -> dict[str, float]:
        """Return the figures of each model of a number, and R² with the teacher's answers and the known numbers."""
        found, joined = super().judged(answers, truth), join_numbers([answers], truth)
        found["validation_agreement"] = _r2(joined.error, truth)
        if self.known is not None and len(self.known.rows) > 1:
            own = joined.bias + joined.weights[0] * answers[self.known.rows]
            found["validation_r2"] = _r2(float(np.square(self.known.labels - own).sum()), self.known.labels)
        return found


def _r2(error: float, truth: Array) -> float:
    return 1 - error / max(float(np.square(truth - truth.mean()).sum()), 1e-12)


PART = NumberStudent
