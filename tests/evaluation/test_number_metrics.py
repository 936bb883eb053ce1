"""Metrics of numbers, against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from glassformer.evaluation.record import Estimate
from glassformer.targets.number.evaluation import _verdict
from glassformer.targets.number.evaluation_baselines import MeanBaseline, RidgeBaseline
from glassformer.targets.number.evaluation_metrics import difference_in_r2, measure_numbers
from tests.readers.counting.test_ridge import graded


def test_they_are_those_of_other_libraries() -> None:
    draw = np.random.default_rng(4)
    truth = draw.normal(3, 2, 300)
    answers = truth + draw.normal(0, 1, 300).round(1)
    found = measure_numbers(answers, truth, resamples=200)
    assert found.r2.value == pytest.approx(r2_score(truth, answers))
    assert found.mae.value == pytest.approx(mean_absolute_error(truth, answers))
    assert found.rmse.value == pytest.approx(root_mean_squared_error(truth, answers))
    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(spearmanr(truth, answers).statistic)
    for estimate in (found.r2, found.mae, found.rmse, found.spearman):
        assert estimate.low < estimate.value < estimate.high


def test_the_mean_explains_nothing_and_has_no_ranks() -> None:
    truth = np.array([1.0, 2.0, 6.0])
    found = measure_numbers(np.full(3, 3.0), truth, resamples=50)
    assert found.r2.value == 0
    assert found.spearman is None


def test_the_difference_is_that_of_both_figures() -> None:
    draw = np.random.default_rng(5)
    truth = draw.normal(size=200)
    good, poor = truth + 0.1 * draw.normal(size=200), truth + draw.normal(size=200)
    found = difference_in_r2((good - truth) ** 2, (poor - truth) ** 2, truth, resamples=200)
    assert found.value == pytest.approx(r2_score(truth, good) - r2_score(truth, poor))
    assert 0 < found.low < found.value


@pytest.mark.parametrize(
    ("rows", "worth", "clear"), [(2, 1.0, False), (5, 1.0, False), (6, 1.0, True), (9, 0.5, False)]
)
def test_few_rows_do_not_show_which_is_better(rows: int, worth: float, clear: bool) -> None:
    truth = np.arange(rows, dtype=np.float64)
    found = difference_in_r2(np.full(rows, 0.1), np.full(rows, 0.9), truth, worth=worth)
    assert found.value > 0
    assert (found.low > 0) == clear


def test_the_better_one_is_named_first_and_so_are_its_figures() -> None:
    assert _verdict("the model", "the mean", 0.3, Estimate(value=-0.1, low=-0.2, high=-0.05), 40) == (
        "the mean is better than the model on 40 rows: R² .300 against .200 "
        "(difference +.100, 95% interval +.050 to +.200)."
    )


def test_baselines_learn_from_the_training_rows() -> None:
    texts, truth = graded(120)
    mean = MeanBaseline().fit(texts[:100], truth[:100])
    assert mean.answers(texts[100:]).tolist() == [pytest.approx(truth[:100].mean())] * 20
    ridge = RidgeBaseline().fit(texts[:100], truth[:100])
    assert r2_score(truth[100:], ridge.answers(texts[100:])) > 0.9
    groups = np.arange(100) // 10
    assert "by cross-validation" in RidgeBaseline(groups).fit(texts[:100], truth[:100]).description
