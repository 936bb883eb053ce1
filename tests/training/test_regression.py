"""How both readers of a number add up, and the intervals that held-out rows give."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

from glassformer.training.number import distances, rank_correlation
from glassformer.training.regression import join_numbers, number_losses
from glassformer.training.training_config import TrainingConfig


def test_weights_are_those_of_least_squares_if_none_is_negative() -> None:
    draw = np.random.default_rng(1)
    readers = draw.normal(size=(2, 200))
    truth = 0.5 + 0.7 * readers[0] + 0.2 * readers[1] + 0.1 * draw.normal(size=200)
    found = join_numbers(list(readers), truth)
    expected = LinearRegression().fit(readers.T, truth)
    assert found.weights == pytest.approx(expected.coef_, abs=1e-5)
    assert found.bias == pytest.approx(expected.intercept_, abs=1e-5)
    off = truth - expected.predict(readers.T)
    assert found.error == pytest.approx(float(off @ off), rel=1e-4)


def test_a_reader_that_speaks_against_the_truth_gets_no_weight() -> None:
    draw = np.random.default_rng(2)
    truth = draw.normal(size=50)
    found = join_numbers([truth + 0.1 * draw.normal(size=50), -truth], truth)
    assert found.weights[1] == pytest.approx(0, abs=1e-5)
    assert join_numbers([np.zeros(50)], truth).bias == pytest.approx(truth.mean(), abs=1e-5)


def test_distances_are_the_quantiles_of_split_conformal_intervals() -> None:
    off = np.arange(1.0, 20.0)  # 19 rows: the ⌈20 · .9⌉ = 18th smallest
    found = distances(off)
    assert len(found) == 99
    assert found[89] == 18
    assert found[94] == 19
    assert found[95] is None


def test_intervals_hold_the_share_that_was_asked_for() -> None:
    draw = np.random.default_rng(3)
    inside = [
        draw.exponential(size=1_000) <= (distances(draw.exponential(size=200))[79] or 0) for _ in range(40)
    ]  # the coverage over many calibrations
    assert np.mean(inside) == pytest.approx(0.8, abs=0.02)


def test_rank_correlation_needs_two_numbers() -> None:
    assert rank_correlation(np.ones(3), np.arange(3.0)) is None
    assert rank_correlation(np.array([1.0, 2.0, 9.0]), np.arange(3.0)) == pytest.approx(1)


@pytest.mark.parametrize(("loss", "expected"), [("huber", [0.125, 2.5]), ("squared", [0.25, 9.0])])
def test_losses(loss: str, expected: list[float]) -> None:
    config = TrainingConfig.model_validate({"number_loss": loss})
    found = number_losses(torch.tensor([0.5, 3.0]), torch.zeros(2), config)
    assert found.tolist() == pytest.approx(expected)
