"""The records of the evaluation of a model that answers with a number."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from glassformer.evaluation.record import Estimate, Record
from glassformer.evaluation.result import DataSummary, DroppedRows, Machine
from glassformer.evaluation.weak_spots import NextStep, Slices


class NumberMetrics(Record):
    """The metrics of answers with a number.

    `r2` is 1 − squared error / squared distance from the mean of the measured rows. `mae` and `rmse` are in the unit of
    the number: the mean absolute error, and the root of the mean squared error. `spearman` is the rank correlation,
    None if all answers are the same.
    """

    rows: int
    r2: Estimate
    mae: Estimate
    rmse: Estimate
    spearman: Estimate | None


class NumberContestant(Record):
    """The model, one of its readers alone, or a baseline. Seconds and bytes are None if they were not measured."""

    name: str
    description: str
    metrics: NumberMetrics
    fit_seconds: float | None
    predict_seconds: float | None
    size_bytes: int | None


class NumberComparison(Record):
    """The comparison of the model with a baseline or a reader on the same rows: the difference in R², model − other."""

    baseline: str
    difference: Estimate
    verdict: str


class NumberDuel(Record):
    """The model beside the baselines, and beside each of its readers alone if it asks two."""

    model: NumberContestant
    baselines: tuple[NumberContestant, ...]
    readers: tuple[NumberContestant, ...]
    comparisons: tuple[NumberComparison, ...]
    verdict: str


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


class DoubtfulNumber(Record):
    """A held-out row of training whose number is far from the answer. `label` is the number as the table has it.

    `text` is its beginning, None if the training table cannot be read any more.
    """

    row: int
    label: str
    answer: float
    text: str | None


class DoubtfulNumbers(Record):
    """The numbers of training that the model doubts: those of `doubtful` of the `rows` rows held out from it.

    `listed` are the most doubtful of them, with their row numbers in `source`.
    """

    source: str
    rows: int
    doubtful: int
    listed: tuple[DoubtfulNumber, ...]


class NumberInputShare(Record):
    """What an input of the rows gives: R² on `rows` rows, and after its values have been permuted among them.

    `gain` is the difference of both.
    """

    name: str
    kind: Literal["text", "column"]
    rows: int
    r2: float
    r2_without: float
    gain: Estimate


class NumberEvaluation(Record):
    """All results of an evaluation. The report shows only these.

    `points` are (truth, answer) of at most 1,000 rows, evenly drawn. `intervals` is empty if the model knows none.
    """

    format: int = 1
    data: DataSummary
    model: dict[str, JsonValue]
    target: str
    metrics: NumberMetrics
    duel: NumberDuel
    intervals: tuple[IntervalCoverage, ...]
    points: tuple[tuple[float, float], ...]
    by_answer: tuple[AnswerRange, ...] = ()
    far_off: FarOff | None = None
    doubts: DoubtfulNumbers | None = None
    inputs: tuple[NumberInputShare, ...] = ()
    next_steps: tuple[NextStep, ...] = ()
    worst_errors: tuple[NumberError, ...]
    dropped: tuple[DroppedRows, ...]
    notes: tuple[str, ...]
    resamples: int
    seed: int
    machine: Machine
    command: str
    created: str
