"""A number for each text at the desk."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from glassformer.data.arrays import Array
from glassformer.data.inputs import as_number
from glassformer.data.table import tidy_values
from glassformer.data.wording import counted, short
from glassformer.desk.labelling import Difference, Figure, Labelling, Said
from glassformer.errors import UsageError, quoted
from glassformer.evaluation.intervals import normal
from glassformer.evaluation.record import Estimate
from glassformer.readers.rules.saying import NumberSaying
from glassformer.targets.kept_rows import KeptNumbers
from glassformer.targets.number.target import NumberAnswers
from glassformer.targets.target import Target


class ANumber(Labelling):
    """A number for each text. Its intervals are equally wide, so texts with the most unseen words are doubted."""

    task: ClassVar = "number"
    panel: ClassVar = "number"
    sureness: ClassVar = "share of known words and word pairs"
    measure: ClassVar = "mean error"
    mistake: ClassVar = "Being off by 1 costs"

    def from_table(self, values: pl.Series) -> pl.Series:
        return pl.Series(values.name, list(map(_cell, tidy_values(values))), pl.String)

    def cell(self, given: str) -> str:
        if (cell := _cell(given)) is None:
            raise UsageError(f"{quoted(given)} is not a number; type one, or skip the text")
        return cell

    def classes_of(self, cell: str) -> Sequence[str]:  # noqa: ARG002
        return []

    def lesson(self, labelled: pl.DataFrame) -> pl.DataFrame:
        return labelled

    def missing(self, lesson: pl.DataFrame) -> str | None:
        return None if lesson["label"].n_unique() > 1 else "a model needs at least two different numbers"

    def saying(self, classes: Sequence[str]) -> NumberSaying:  # noqa: ARG002
        return NumberSaying(column="the number", mean=0, deviation=1)  # a round checks the unit

    def said(self, answers: NumberAnswers) -> Said:
        cells = _cells(answers.values)
        if answers.unseen is None:
            return Said(cells, None, np.zeros(len(cells)))
        return Said(cells, (1 - answers.unseen).tolist(), answers.unseen)

    def said_unseen(self, kept: KeptNumbers, target: Target) -> Said:  # noqa: ARG002
        return Said(_cells(kept.answered), None, np.zeros(kept.rows))

    def to_check(self, cell: str) -> Any:
        return float(cell)

    def loss(self, label: str, suggested: str) -> float:
        return abs(float(label) - float(suggested))

    def mean_loss(self, estimate: Estimate) -> Estimate:
        return estimate

    def figure(self, pairs: Sequence[tuple[str, str]]) -> Figure:
        off = np.array([self.loss(*pair) for pair in pairs])
        error = off.std(ddof=1) / np.sqrt(len(off)) if len(off) > 1 else np.inf
        mean = normal(float(off.mean()), float(error), lowest=0.0)
        off_by, texts = f"off by {short(mean.value)}", counted(len(off), "text")
        if len(off) == 1:
            return Figure(
                f"{off_by} on {texts}, which is too few to tell", f"{off_by} ({texts}: too few to tell)", mean
            )
        between = f"{short(mean.low)} to {short(mean.high)}"
        return Figure(f"{off_by} on average on {texts} (likely {between})", f"{off_by} ({between}; {len(off):,})", mean)

    def difference(self, totals: Counter[str], classes: Sequence[str]) -> Difference:  # noqa: ARG002
        return lambda one, other: (float(one) - float(other)) ** 2


def _cells(values: Array) -> list[str]:
    return [short(value).replace(",", "") for value in values.tolist()]


def _cell(given: str | None) -> str | None:
    number = as_number(given)
    return None if number is None else str(number).removesuffix(".0")


def _labelling(task: str | None, separator: str | None, levels: str | None) -> Labelling:  # noqa: ARG001
    return ANumber()


PART = _labelling
