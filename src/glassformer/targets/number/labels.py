"""How the numbers of a table are checked: by how far they are from answers that have not seen them."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from glassformer.data.arrays import Array, Numbers
from glassformer.data.in_memory import as_number_table
from glassformer.data.numbers import check_varies, numbers_of
from glassformer.data.table import Table
from glassformer.data.wording import figure, short
from glassformer.errors import UsageError, quoted
from glassformer.labels.findings import DROP, LabelCheck
from glassformer.labels.learning_curve import LearningCurve, curve_through, fewest_rows
from glassformer.labels.repeats import OnProgress, silent
from glassformer.labels.truth import Suggested, Truth, Unsure
from glassformer.readers.counting.ridge import fold_readers, strata_of
from glassformer.readers.reader import Fold

_FENCE = 3  # interquartile ranges beyond the quartiles: Tukey's outer fence, once in 400,000 rows with normal errors
_COVERAGE = 0.9
_OF_NORMAL = 1.349  # the interquartile range of normal errors, in standard deviations


def far_off(off: Numbers) -> Array | None:
    """Return the rows whose errors are beyond Tukey's outer fences (1977, §2D), the farthest first.

    Returns:
        None if half of the errors are the same, which says nothing about the others.
    """
    first, third = np.quantile(off, (0.25, 0.75))
    if first == third:
        return None
    beyond = np.maximum(first - off, off - third)
    found = np.flatnonzero(beyond > _FENCE * (third - first))
    return found[np.argsort(-beyond[found], kind="stable")]


class NumberTruth(Truth):
    """A number for each text. The answers are numbers (rows,)."""

    to_type: ClassVar = "a number"
    measure: ClassVar = "deviations"
    measure_of_new: ClassVar = "spread"
    one_answer: ClassVar = "the mean"

    @classmethod
    def in_memory(cls, texts: Iterable[str], labels: Iterable[Any], groups: Any) -> Table:
        return as_number_table(texts, labels, groups=groups)

    names: ClassVar = ()

    @cached_property
    def values(self) -> Numbers:
        numbers = numbers_of(self.table)
        check_varies(numbers, self.table)
        return numbers

    @property
    def in_words(self) -> str:
        return f"numbers from {short(self.values.min())} to {short(self.values.max())}"

    @property
    def strata(self) -> Array:
        return strata_of(self.values)

    @property
    def kinds(self) -> Array:
        return self.values

    @property
    def _learned(self) -> Numbers:
        return (self.values - self.values.mean()) / self.values.std()

    def _in_unit(self, answers: Array) -> Numbers:
        return self.values.mean() + self.values.std() * answers.astype(np.float64)

    def answers(self, texts: Sequence[str], folds: Sequence[Fold], on_progress: OnProgress) -> Array:
        found = np.empty(len(texts))
        held_out, _ = fold_readers(texts, self._learned, folds=folds, on_progress=on_progress)
        found[np.concatenate([fold.held_out for fold in folds])] = held_out
        return self._in_unit(found)

    def curve(
        self, texts: Sequence[str], folds: Sequence[Fold], answers: Array, on_progress: OnProgress
    ) -> LearningCurve | None:
        """Return what more rows would bring, by how far off the answers are on average."""
        if len(texts) < fewest_rows(0):
            return None

        def learn(parts: Sequence[Fold], progress: OnProgress) -> Array:
            found, _ = fold_readers(texts, self._learned, folds=parts, on_progress=progress)
            judged = np.concatenate([part.held_out for part in parts])
            return np.abs(self.values[judged] - self._in_unit(found))

        baseline_error = float(np.abs(self.values - self.values.mean()).mean())
        return curve_through(
            folds, np.abs(self.values - answers), learn, baseline_error=baseline_error, on_progress=on_progress
        )

    def doubts(self, answers: Array) -> tuple[Array, Suggested, float | None]:
        rows = self._far(answers)
        return rows, self.suggested(answers, rows), None

    def _far(self, answers: Array) -> Array:
        found = far_off(self.values - answers)
        return np.zeros(0, np.int64) if found is None else found

    def suggested(self, answers: Array, rows: Array) -> Suggested:
        """Return the answers to rows, and how many standard deviations of all errors the numbers are away from them."""
        off = self.values - answers
        first, third = np.quantile(off, (0.25, 0.75))
        deviation = (third - first) / _OF_NORMAL or off.std() or 1.0
        return Suggested(cells=_cells(answers[rows]), measures=np.round(np.abs(off[rows]) / deviation, 1))

    def agreement(self, answers: Array) -> tuple[Numbers, Numbers]:
        """Return values of the rows that are not doubtful: a typing error alone can be most of all squared errors.

        Their mean is R², which is 0 for the mean of these numbers. If the others have one number, all rows are taken.
        """
        kept = np.delete(np.arange(len(answers)), self._far(answers))
        if np.ptp(self.values[kept]) == 0:
            kept = np.arange(len(answers))
        numbers, variance = self.values[kept], self.values[kept].var()
        return tuple(1 - np.square(numbers - each) / variance for each in (answers[kept], numbers.mean()))

    def unlike(self, text: Array, answers: Array) -> Array:
        order = np.lexsort((self.values, text))
        ends = np.cumsum(np.bincount(text))
        lowest, highest = order[np.concatenate([[0], ends[:-1]])][text], order[ends - 1][text]
        below, above = self.values - self.values[lowest], self.values[highest] - self.values
        may_be_apart = np.quantile(np.abs(self.values - answers), _COVERAGE)  # an interval of 90% of the errors
        return np.where(np.maximum(below, above) > may_be_apart, np.where(below > above, lowest, highest), -1)

    def differ(self, one: Array, other: Array, answers: Array) -> Array:
        """Return which numbers are so far apart that one of them must be doubtful.

        Nearly the same texts may well have other numbers ("5 rooms", "6 rooms"). So the numbers must be farther apart
        than the two fences of doubtful numbers, and so must their errors: if the errors are not, the model sees in the
        texts why the numbers differ.
        """
        off = self.values - answers
        first, third = np.quantile(off, (0.25, 0.75))
        if first == third:
            return np.zeros(len(one), bool)
        apart = np.minimum(*(np.abs(each[one] - each[other]) for each in (self.values, off)))
        return np.asarray(apart > (2 * _FENCE + 1) * (third - first))

    def unsure(self, texts: Sequence[str], folds: Sequence[Fold], new: Sequence[str]) -> Unsure:
        """Answer by the readers of all folds. The model is least sure where they disagree most."""
        everything = Fold(learned=np.arange(len(texts)), held_out=np.zeros(0, np.int64))
        _, readers = fold_readers(texts, self._learned, folds=[*folds, everything], on_progress=silent)
        answers = self._in_unit(np.stack([reader.scores(new)[:, 0] for reader in readers]))
        spread = answers[:-1].std(axis=0)
        measures = np.array([float(f"{each:.3g}") for each in spread])
        return Unsure(
            order=np.argsort(-spread, kind="stable"),
            suggested=Suggested(cells=_cells(answers[-1]), measures=measures),
            reader=readers[-1],
        )

    def agreement_in_words(self, check: LabelCheck) -> str:
        return f"Without doubtful numbers, R² of the answers is {figure(check.agreement)}."

    def figures(self, check: LabelCheck) -> dict[str, float | None]:
        return {"r2": round(check.agreement, 4)}

    def measured(self, measure: float) -> str:
        return f"{measure:.1f} deviations"

    def same(self, one: str, other: str) -> bool:
        return one == other or _number(one) == _number(other)

    def checked(self, new: str, place: str, *, new_class: bool = False) -> str | None:  # noqa: ARG002
        if new.lower() == DROP:
            return None
        number = math.nan if "_" in new else _number(new)
        if not math.isfinite(number):
            raise UsageError(f"{place}: {quoted(new)} is not a number; type one, or {DROP} to leave out the row")
        return str(number).removesuffix(".0")  # as JSON has it: without "+", and with a digit before the point


def _cells(numbers: Numbers) -> list[str]:
    return [f"{number:.6g}" for number in numbers.tolist()]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


PART = NumberTruth
