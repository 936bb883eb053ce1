"""Where a model of a number is farther off, and the advice that its figures give."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassformer.data.splits import Splits
from glassformer.data.table import Table
from glassformer.evaluation.evaluate import evaluate
from glassformer.evaluation.measured import Outcome, doubts_of
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import render
from glassformer.evaluation.result import DataSummary
from glassformer.evaluation.weak_spots import DoubtfulRows
from glassformer.prediction.label_doubts import NumberDoubts
from glassformer.targets.number.evaluation import NumberedRows, notes
from glassformer.targets.number.evaluation_result import DoubtfulNumber, IntervalCoverage, NumberEvaluation
from glassformer.targets.number.evaluation_steps import number_steps
from glassformer.targets.number.held_out import Scale
from glassformer.targets.number.target import Number
from glassformer.targets.number.training_held_out import HeldOutNumberRows, Off
from tests.training.test_number import scored

ROWS = 400
DRAW = np.random.default_rng(5)
TRUTH = DRAW.uniform(10, 1_000, ROWS)
PRICE = Number(column="price", scale=Scale(mean=500.0, deviation=250.0, lowest=10.0, highest=1_000.0))
TEXTS = [f"{'refund' if number % 4 == 0 else 'paid'} item {number}" for number in range(ROWS)]


def evaluation(answers: Any, ridge: Any = None, **changed: Any) -> NumberEvaluation:
    """Of a model with these answers, beside the mean and ridge regression with the answers `ridge`."""
    mean = np.full(ROWS, TRUTH.mean())
    others = {"the mean": mean, "ridge": mean if ridge is None else ridge}
    rows = NumberedRows(
        truth=TRUTH, texts=TEXTS, rows=range(1, ROWS + 1), values=answers, target=PRICE, away=50.0, resamples=200
    )
    found = evaluate(
        rows,
        data=DataSummary(source="t.csv", split="test", rows=ROWS, trained_on="train.csv", training_rows=5_000),
        model={"name": "m"},
        baselines=[Outcome(name=name, description="", answers=own) for name, own in others.items()],
    ).model_copy(update=changed)
    return found.model_copy(update={"next_steps": number_steps(found)})


def advice(found: NumberEvaluation) -> str:
    return "\n".join(step.text for step in found.next_steps)


def test_a_good_model_gets_no_advice() -> None:
    found = evaluation(TRUTH + DRAW.normal(0, 30, ROWS))
    assert found.next_steps == ()
    assert 'id="next"' not in render(found)


def test_rows_that_were_learned_choose_no_model() -> None:
    why = "3 of 40 measured texts were also in training; all figures are too good"
    assert why in advice(evaluation(TRUTH + DRAW.normal(0, 30, ROWS), too_good=why))
    no_better = evaluation(np.full(ROWS, TRUTH.mean()), too_good=why)
    assert advice(no_better).startswith("Do not rely on the answers")


def test_a_model_that_is_not_better_than_a_baseline_is_told_so() -> None:
    noise = DRAW.normal(0, 1, ROWS)
    assert "not clearly better than always answering the mean" in advice(evaluation(TRUTH.mean() + noise))
    near = TRUTH + 30 * noise
    assert "Prefer ridge: it explains more" in advice(evaluation(TRUTH + 200 * noise, ridge=near))
    assert "no clear winner" in advice(evaluation(near, ridge=TRUTH - 30 * noise))


def test_advice_names_the_slice_and_the_answers_that_are_farther_off() -> None:
    refunds = np.array(["refund" in text for text in TEXTS])
    found = evaluation(TRUTH + DRAW.normal(0, 1, ROWS) * np.where(refunds, 100, 10))
    assert "(keyword: refund)" in advice(found)
    page = render(found)
    assert 'href="#slices"' in page
    assert "answers are far off (by more than" in page
    grows = evaluation(TRUTH * np.exp(DRAW.normal(0, 0.15, ROWS)))
    assert "Try to learn the logarithm" in advice(grows)
    assert [part.rows for part in grows.by_answer] == [100] * 4
    assert grows.by_answer[-1].mae > 2 * grows.by_answer[0].mae
    assert "How far off, by answer" in render(grows)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"intervals": (IntervalCoverage(asked=0.9, distance=1, coverage=Estimate(value=0.7, low=0.6, high=0.8)),)},
            "those of 90% hold .700 of these numbers",
        ),
        (
            {"doubts": DoubtfulRows[DoubtfulNumber](source="t.csv", rows=90, doubtful=1, listed=(), command=None)},
            "Check numbers: 1 of 90 held-out rows of t.csv has a number far from the answer",
        ),
        ({"data": DataSummary(source="t", split="", rows=ROWS, training_rows=60)}, "learned from 60 rows only"),
    ],
)
def test_other_advice(changed: dict[str, Any], words: str) -> None:
    found = evaluation(TRUTH + DRAW.normal(0, 30, ROWS), **changed)
    assert words in advice(found)
    assert words in render(found)


def test_few_measured_rows_leave_r2_open() -> None:
    open_r2 = Estimate(value=0.5, low=-0.1, high=0.8)
    found = evaluation(TRUTH + DRAW.normal(0, 30, ROWS))
    found = found.model_copy(update={"metrics": found.metrics.model_copy(update={"r2": open_r2})})
    assert "R² may be anything from −0.10 to 0.80" in number_steps(found)[0].text


def doubts(table: Table, off: Any) -> NumberDoubts | None:
    """What rows that are so far off say about the numbers of a table."""
    rows = HeldOutNumberRows(table=table, places=np.arange(len(off)), off=Off(model=off, alone={}, ranked=off))
    return rows.doubts()


def shown(found: NumberDoubts, seen: Splits | str) -> DoubtfulRows[DoubtfulNumber] | None:
    remembered = SimpleNamespace(data=SimpleNamespace(read_as=None))
    config = SimpleNamespace(data={"validation_rows": 60}, remembered=remembered, target=PRICE)
    trained: Any = SimpleNamespace(metrics={"number_doubts": found.model_dump()}, config=config)
    doubtful: DoubtfulRows[DoubtfulNumber] | None = doubts_of(trained, seen)["doubts"]
    return doubtful


def test_a_number_with_a_lost_point_is_doubted() -> None:
    table = scored(60)
    truth = np.linspace(1, 7, 60).round(2)
    off = np.random.default_rng(2).normal(0, 0.3, 60)
    off[[7, 30]] = 400, -90
    labels = pl.Series([f"{each:.2f}" for each in truth])
    table = replace(table, frame=table.frame.with_columns(label=labels))
    found = doubts(table, off)
    assert found is not None
    assert [(each.row, each.label) for each in found.listed] == [(8, labels[7]), (31, labels[30])]
    assert found.listed[0].answer == pytest.approx(truth[7] - 400, rel=1e-4)
    read = shown(found, Splits(train=table, validation=None, notes=()))
    assert read is not None
    assert read.listed[0].text == table.frame["text"][7]
    unread = shown(found, "the table is gone")
    assert unread is not None
    assert unread.listed[0].text is None
    assert "number <s>" in render(evaluation(TRUTH, doubts=read))


def test_usual_errors_and_few_rows_are_not_doubted() -> None:
    table: Table = scored(60)
    normal = np.random.default_rng(3).normal(size=60)
    found = doubts(table, normal)
    assert found is not None
    assert found.doubtful == 0
    assert shown(found, "gone") is None
    assert doubts(table, normal[:10]) is None
    assert doubts(table, np.zeros(60)) is None


def test_another_column_or_range_is_warned_of() -> None:
    scale = Scale(mean=3.0, deviation=1.0, lowest=1.0, highest=5.0)
    config: Any = SimpleNamespace(target=Number(column="rating", scale=scale))
    table = replace(scored(3), label_column="Rating")
    assert notes(config, table, np.array([1.0, 5.0, 5.3])) == []
    named, ranged = notes(config, replace(table, label_column="price"), np.array([2.0, 80.0, 1_200.0]))
    assert "the column 'price' is measured, but the model learned 'rating'" in named
    assert "67% of the numbers, 2 to 1200, are far outside of those of training, 1 to 5" in ranged
