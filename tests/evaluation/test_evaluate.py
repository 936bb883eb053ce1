from collections.abc import Sequence

import numpy as np
import pytest

from glassformer.errors import GlassformerError, UsageError
from glassformer.evaluation.evaluate import evaluate
from glassformer.evaluation.measured import Outcome
from glassformer.evaluation.result import DataSummary
from glassformer.targets.labels.evaluation import LabelledRows
from glassformer.targets.labels.evaluation_result import LabelEvaluation
from glassformer.targets.labels.target import labels_target
from tests.evaluation.samples import sample_evaluation


def small(
    logits: np.ndarray,
    labels: np.ndarray,
    *,
    multilabel: bool = False,
    rows: Sequence[int] | None = None,
    temperature: float = 1.0,
    baselines: Sequence[Outcome] = (),
) -> LabelEvaluation:
    n = len(labels)
    measured = LabelledRows(
        truth=labels,
        logits=logits,
        texts=[f"text {i}" for i in range(n)],
        rows=range(101, 101 + n) if rows is None else rows,
        target=labels_target(["no", "yes"], multilabel=multilabel, temperature=temperature),
        resamples=20,
    )
    data = DataSummary(source="a.csv", split="test", rows=n)
    found: LabelEvaluation = evaluate(measured, data=data, model={"name": "m"}, baselines=baselines)
    return found


def outcome(probs: np.ndarray, name: str = "rule") -> Outcome:
    return Outcome(name=name, description="by hand", answers=probs, fit_seconds=1.0, predict_seconds=1.0, size_bytes=1)


@pytest.mark.parametrize("multilabel", [False, True])
def test_survives_json(multilabel: bool) -> None:
    found = sample_evaluation(60, 5, multilabel=multilabel)
    assert LabelEvaluation.model_validate_json(found.model_dump_json()) == found


def test_duel_counts_the_same_rows() -> None:
    logits = np.array([[0, 1], [0, 1], [0, 1], [1, 0], [1, 0]], dtype=np.float32)
    labels = np.array([1, 1, 1, 0, 1])
    found = small(logits, labels, baselines=[outcome(np.tile([0.6, 0.4], (5, 1)))]).duel
    comparison = found.comparisons[0]
    assert (comparison.only_model_right, comparison.only_baseline_right) == (3, 0)
    assert comparison.difference.value == pytest.approx(3 / 5)
    assert comparison.mcnemar_p == pytest.approx(2 / 2**3)
    assert found.verdict.startswith("No clear winner on 5 rows")


def test_the_verdict_is_about_the_strongest_baseline() -> None:
    labels = np.array([1] * 30 + [0] * 3)
    good, poor = outcome(np.tile([0.1, 0.9], (33, 1)), "majority"), outcome(np.tile([0.9, 0.1], (33, 1)), "words")
    logits = np.tile([1.0, 0.0], (33, 1))
    assert small(logits, labels, baselines=[good, poor]).duel.verdict.startswith("Majority is more accurate here")
    assert small(logits, labels).duel.verdict == "No baseline was measured on these rows."


def test_worst_errors_come_surest_first_with_their_rows() -> None:
    logits = np.array([[3, 0], [0, 1], [0, 5], [0, 9]], dtype=np.float32)
    found = small(logits, np.array([1, 0, 0, 1])).worst_errors
    assert [(mistake.row, mistake.text, mistake.truth, mistake.prediction) for mistake in found] == [
        (103, "text 2", ("no",), ("yes",)),
        (101, "text 0", ("yes",), ("no",)),
        (102, "text 1", ("no",), ("yes",)),
    ]
    assert found[0].confidence == pytest.approx(1 / (1 + np.exp(-5)))


def test_worst_errors_of_several_labels() -> None:
    logits = np.array([[-6.0, 2.0], [1.0, -1.0], [4.0, 4.0]])
    found = small(logits, np.array([[1, 1], [0, 0], [1, 1]], dtype=np.uint8), multilabel=True).worst_errors
    assert [(mistake.row, mistake.truth, mistake.prediction) for mistake in found] == [
        (101, ("no", "yes"), ("yes",)),
        (102, (), ("no",)),
    ]
    assert found[0].confidence == pytest.approx(1 / (1 + np.exp(-6)))


def test_temperature_moves_confidence_not_accuracy() -> None:
    logits = np.random.default_rng(0).normal(size=(90, 2)) * 6
    labels = np.arange(90) % 2
    plain, cooled = small(logits, labels), small(logits, labels, temperature=3.0)
    assert plain.metrics.accuracy == cooled.metrics.accuracy
    assert plain.confusion == cooled.confusion
    assert plain.calibration.before == cooled.calibration.before
    assert cooled.calibration.after.ece < cooled.calibration.before.ece
    assert cooled.metrics.log_loss < plain.metrics.log_loss


def test_refuses_what_cannot_be_measured() -> None:
    with pytest.raises(UsageError, match="no labelled row"):
        small(np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    with pytest.raises(GlassformerError, match="NaN or infinite"):
        small(np.array([[0, np.nan], [0, 1]]), np.array([0, 1]))
