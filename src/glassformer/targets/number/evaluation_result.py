"""The records of the evaluation of a model that answers with a number."""

from typing import ClassVar

from glassformer.data.wording import short
from glassformer.evaluation.record import Estimate, Record
from glassformer.evaluation.result import Comparison, Contestant, Duel, Evaluation, Figures, ModelComparison
from glassformer.evaluation.verdict import interval, share
from glassformer.evaluation.weak_spots import (
    AnyTextChange,
    DoubtfulRows,
    InputShare,
    Robustness,
    Slices,
)
from glassformer.prediction.label_doubts import DoubtedNumber
from glassformer.targets.number.evaluation_rules import MeasuredRules


class NumberMetrics(Figures):
    """The metrics of answers with a number.

    `r2` is 1 − squared error / squared distance from the mean of the measured rows. `mae` and `rmse` are in the unit of
    the number: the mean absolute error, and the root of the mean squared error. `spearman` is the rank correlation,
    None if all answers are the same.
    """

    named: ClassVar[str] = "R² "

    r2: Estimate
    mae: Estimate
    rmse: Estimate
    spearman: Estimate | None

    @property
    def leading(self) -> Estimate:
        return self.r2

    @property
    def main(self) -> dict[str, Estimate]:
        return {"r2": self.r2, "mean_absolute_error": self.mae}


class IntervalCoverage(Record):
    """Intervals that held-out rows of training gave, and the share of the measured rows that they hold.

    An interval reaches from `distance` below the answer to `distance` above it.
    """

    asked: float
    distance: float
    coverage: Estimate


class NumberError(Record):
    """A row whose answer is far off."""

    row: int
    text: str
    truth: float
    prediction: float


class AnswerRange(Record):
    """The rows whose answers lie from `low` to `high`: a quarter of all.

    `mae` is their mean absolute error, `bias` the mean of answer − truth, `held` the share of these rows whose number
    lies in the interval of 90%. It is None if the model has no such intervals.
    """

    low: float
    high: float
    rows: int
    mae: float
    bias: float
    held: float | None


class FarOff(Record):
    """Where answers are far off: by more than `distance`, as a fifth of all are.

    In `slices`, a row that is not far off counts as right.
    """

    distance: float
    slices: Slices


class NumberTextChange(AnyTextChange[float]):
    """A change of texts that have a number. `moved` is how far an answer moves, the mean over texts.

    `mae_after` is None if the right number may have changed.
    """

    moved: Estimate
    mae_before: float
    mae_after: float | None


class DoubtfulNumber(DoubtedNumber):
    """A held-out row of training whose number is far from the answer."""

    text: str | None


class NumberInputShare(InputShare):
    """What an input gives: R² with it, and without it."""

    r2: float
    r2_without: float


class NumberEvaluation(Evaluation):
    """The results for a number.

    `points` are (truth, answer) of at most 1,000 rows, evenly drawn. `intervals` is empty if the model knows none.
    """

    target: str
    metrics: NumberMetrics
    duel: Duel[Contestant[NumberMetrics], Comparison]
    intervals: tuple[IntervalCoverage, ...]
    points: tuple[tuple[float, float], ...]
    by_answer: tuple[AnswerRange, ...] = ()
    far_off: FarOff | None = None
    rules: MeasuredRules | None = None
    robustness: Robustness[NumberTextChange] | None = None
    inputs: tuple[NumberInputShare, ...] = ()
    doubts: DoubtfulRows[DoubtfulNumber] | None = None
    worst_errors: tuple[NumberError, ...]


PART = NumberEvaluation


class Nearer(Record):
    """A text to which one model answers nearer to the truth."""

    row: int
    text: str
    truth: float
    answer_a: float
    answer_b: float


class NumberModelComparison(ModelComparison):
    """The comparison of model A with model B. `difference` is A's R² − B's on the same rows.

    A is nearer to the truth on `a_nearer` rows, B on `b_nearer`. Those with the largest gaps between both are listed.
    """

    r2_a: Estimate
    r2_b: Estimate
    mae_a: Estimate
    mae_b: Estimate
    a_nearer: int
    b_nearer: int
    most_a_nearer: tuple[Nearer, ...]
    most_b_nearer: tuple[Nearer, ...]

    @property
    def figures(self) -> tuple[str, str]:
        return _figures(self.r2_a, self.mae_a), _figures(self.r2_b, self.mae_b)

    @property
    def parted(self) -> dict[str, tuple[int, list[tuple[str, str]]]]:
        return {
            f"{self.model_a} is nearer": (self.a_nearer, list(map(_line, self.most_a_nearer))),
            f"{self.model_b} is nearer": (self.b_nearer, list(map(_line, self.most_b_nearer))),
        }


def _line(each: Nearer) -> tuple[str, str]:
    answers = f"{short(each.answer_a)} / {short(each.answer_b)}"
    return f"row {each.row}, {short(each.truth)} (answers {answers})", each.text


def _figures(r2: Estimate, mae: Estimate) -> str:
    near = f"{short(mae.value)} ({short(mae.low)} to {short(mae.high)})"
    return f"R² {share(r2.value)} ({interval(r2)}), mean absolute error {near}"
