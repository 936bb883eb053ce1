import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax

from glassformer.prediction.calibration import fit_temperature
from glassformer.targets.probabilities import probabilities


@pytest.mark.parametrize("truth", [0.4, 1.0, 2.5])
def test_recovers_a_known_temperature(truth: float) -> None:
    rng = np.random.default_rng(1)
    calibrated = rng.normal(size=(20_000, 3)) * 2
    labels = (softmax(calibrated, axis=1).cumsum(axis=1) > rng.random((20_000, 1))).argmax(axis=1)
    assert fit_temperature((calibrated * truth).astype(np.float32), labels, False) == pytest.approx(truth, rel=0.04)


def test_recovers_a_known_temperature_of_sigmoids() -> None:
    rng = np.random.default_rng(2)
    calibrated = rng.normal(size=(9_000, 4)) * 2
    labels = (rng.random((9_000, 4)) < expit(calibrated)).astype(np.uint8)
    assert fit_temperature(calibrated * 3, labels, True) == pytest.approx(3, rel=0.04)


@pytest.mark.parametrize("multilabel", [False, True])
def test_recovers_a_known_temperature_from_probabilities(multilabel: bool) -> None:
    calibrated = np.random.default_rng(3).normal(size=(50, 4)) * 2
    probs = expit(calibrated) if multilabel else softmax(calibrated, axis=1)
    assert fit_temperature(calibrated * 3, probs, multilabel) == pytest.approx(3, rel=1e-4)


@pytest.mark.parametrize(
    ("logits", "labels"),
    [
        (np.array([[1.0, 2.0]] * 19), np.array([0, 1] * 9 + [0])),
        (np.array([[np.nan, 2.0]] * 40), np.array([0, 1] * 20)),
        (np.array([[-5.0, 5.0]] * 40), np.array([1] * 40)),
        (np.array([[-5.0, 5.0]] * 40), np.array([0] * 40)),
        (np.zeros((40, 2)), np.array([0, 1] * 20)),
    ],
    ids=["too few", "not finite", "never wrong", "always wrong", "no opinion"],
)
def test_leaves_alone_what_cannot_be_told(logits: np.ndarray, labels: np.ndarray) -> None:
    assert fit_temperature(logits, labels, False) == 1.0


@given(st.integers(0, 1000), st.floats(0.05, 20))
def test_a_temperature_never_changes_an_answer(seed: int, temperature: float) -> None:
    logits = np.random.default_rng(seed).normal(size=(7, 3)) * 5
    plain = probabilities(logits, multilabel=False)
    cooled = probabilities(logits, temperature=temperature, multilabel=False)
    np.testing.assert_array_equal(plain.argmax(axis=1), cooled.argmax(axis=1))
    np.testing.assert_allclose(cooled.sum(axis=1), 1)


def test_few_rows_move_a_temperature_little_if_the_scale_was_fitted_before() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 2
    logits = rng.normal(size=(600, 2)) + np.eye(2)[labels]  # of these, T is 1; multiplied by 2, it is 2
    for rows, lowest, highest in ((30, 1.02, 1.6), (600, 1.6, 2.2)):
        known = fit_temperature(2 * logits[:rows], labels[:rows], multilabel=False)
        drawn = fit_temperature(2 * logits[:rows], labels[:rows], multilabel=False, deviation=0.25)
        assert lowest < drawn < min(known, highest)
