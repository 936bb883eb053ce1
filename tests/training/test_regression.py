"""How both readers of a number add up, and the intervals that held-out rows give."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

from glassformer.targets.number.training import distances, rank_correlation
from glassformer.targets.number.training_regression import join_numbers, number_losses
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


@pytest.mark.parametrize("count", [1, 2])
def test_rows_left_out_are_those_of_a_fit_without_them(count: int) -> None:
    draw = np.random.default_rng(6)
    truth = draw.normal(size=12)
    readers = [truth + draw.normal(size=12) for _ in range(count)]
    for row, off in enumerate(join_numbers(readers, truth).left_out):
        others = np.arange(12) != row
        without = join_numbers([reader[others] for reader in readers], truth[others])
        answer = without.bias + sum(w * reader[row] for w, reader in zip(without.weights, readers, strict=True))
        assert off == pytest.approx(truth[row] - answer, abs=1e-4)


def test_without_a_reader_that_helps_a_row_is_left_out_of_the_mean() -> None:
    truth = np.array([1.0, 2.0, 6.0])
    assert join_numbers([-truth], truth).left_out == pytest.approx([1 - 4, 2 - 3.5, 6 - 1.5], abs=1e-5)
    alone = join_numbers([truth[:2]], truth[:2])  # a line through both rows
    assert np.isfinite(alone.left_out).all()


def test_intervals_hold_although_the_weights_were_fitted_to_the_same_few_rows() -> None:
    draw, inside = np.random.default_rng(7), []
    for _ in range(400):
        truth = draw.normal(size=220)
        readers = [0.7 * truth + 0.7 * draw.normal(size=220) for _ in range(2)]
        joined = join_numbers([reader[:20] for reader in readers], truth[:20])
        answers = joined.bias + np.stack(readers, axis=1)[20:] @ joined.weights
        inside.append(np.abs(truth[20:] - answers) <= (distances(np.abs(joined.left_out))[89] or 0))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.02)


def test_rank_correlation_needs_two_numbers() -> None:
    assert rank_correlation(np.ones(3), np.arange(3.0)) is None
    assert rank_correlation(np.array([1.0, 2.0, 9.0]), np.arange(3.0)) == pytest.approx(1)


@pytest.mark.parametrize(("loss", "expected"), [("huber", [0.125, 2.5]), ("squared", [0.25, 9.0])])
def test_losses(loss: str, expected: list[float]) -> None:
    config = TrainingConfig.model_validate({"number_loss": loss})
    found = number_losses(torch.tensor([0.5, 3.0]), torch.zeros(2), config)
    assert found.tolist() == pytest.approx(expected)
