from typing import Any

import numpy as np
import pytest
from scipy import sparse

from glassformer.readers.counting import fitting
from glassformer.readers.counting.fitting import log_count_ratios, softmax_regression


def test_log_count_ratios_add_one_to_both_counts() -> None:
    """Wang & Manning 2012, eq. 1, by hand: p = (1, 0) + 1 of one text, q = (1, 2) + 1 of two."""
    present = sparse.csr_matrix(np.array([[1, 0], [1, 1], [0, 1]], np.float32))
    found = log_count_ratios(present, np.array([[True], [False], [False]]), np.ones(3, np.float32))
    assert found[:, 0] == pytest.approx(np.log([(2 / 3) / (2 / 5), (1 / 3) / (3 / 5)]), rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_in_the_space_of_the_texts_gives_the_same_weights(
    n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if texts are the same, one has no n-gram, and rows have weights."""
    draw = np.random.default_rng(0)
    values = sparse.random_array((40, 900), density=0.05, format="csr", rng=draw, dtype=np.float32).tolil()
    values[7], values[8], values[9] = values[6], values[6], 0
    labels, weights = draw.integers(0, n_classes, 40), draw.uniform(0.5, 2, 40).astype(np.float32)
    monkeypatch.setattr(fitting, "_TOLERANCE", 1e-7)
    found = []
    for small in (False, True):
        monkeypatch.setattr(fitting, "_fits_faster_by_texts", lambda *_, small=small: small)
        given: dict[str, Any] = {"strength": 4.0, "row_weights": weights, "n_classes": n_classes}
        found.append(softmax_regression(sparse.csr_matrix(values), labels, **given))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
    assert np.abs(found[0][0]).max() > 0.3


def test_few_texts_with_many_ngrams_are_fitted_by_texts() -> None:
    values = sparse.csr_matrix(sparse.random_array((50, 9_000), density=0.01, rng=np.random.default_rng(0)))
    assert fitting._fits_faster_by_texts(values, 3)
    assert not fitting._fits_faster_by_texts(sparse.csr_matrix(values[:, :40]), 3)
