from typing import Any

import numpy as np
import pytest
from scipy import sparse

from glassformer.data.arrays import FloatArray
from glassformer.readers.counting import regression
from glassformer.readers.counting.regression import log_count_ratios, softmax_regression


def test_log_count_ratios_add_one_to_both_counts() -> None:
    """Wang & Manning 2012, eq. 1, by hand: p = (1, 0) + 1 of one text, q = (1, 2) + 1 of two."""
    present = sparse.csr_matrix(np.array([[1, 0], [1, 1], [0, 1]], np.float32))
    found = log_count_ratios(present, np.array([[True], [False], [False]]), np.ones(3, np.float32))
    assert found[:, 0] == pytest.approx(np.log([(2 / 3) / (2 / 5), (1 / 3) / (3 / 5)]), rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("by_texts", "least_alone"), [(True, 2), (False, 0), (True, 0)])
def test_smaller_problems_give_the_same_weights(
    n_classes: int, by_texts: bool, least_alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if texts are the same, one has no n-gram, one values of 0, and rows have weights, one of them 0."""
    draw = np.random.default_rng(0)
    values = sparse.random_array((40, 900), density=0.05, format="csr", rng=draw, dtype=np.float32).tolil()
    values[7], values[8], values[9] = values[6], values[6], 0
    labels, weights = draw.integers(0, n_classes, 40), draw.uniform(0.5, 2, 40).astype(np.float32)
    weights[3] = 0
    sparse_values = sparse.csr_matrix(values)
    sparse_values.data[sparse_values.indptr[12] : sparse_values.indptr[13]] = 0
    monkeypatch.setattr(regression, "_TOLERANCE", 1e-7)

    def fitted(by_texts: bool, least_alone: int) -> tuple[FloatArray, FloatArray]:
        monkeypatch.setattr(regression, "_fits_faster_by_texts", lambda *_: by_texts)
        monkeypatch.setattr(regression, "_MANY_ALONE", least_alone)
        given: dict[str, Any] = {"strength": 4.0, "row_weights": weights, "n_classes": n_classes}
        return softmax_regression(sparse_values, labels, **given)

    plain = fitted(False, 2)
    for found, expected in zip(fitted(by_texts, least_alone), plain, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-3)
    assert np.abs(plain[0]).max() > 0.3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_large_tables_are_fitted_part_by_part(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    values = sparse.csr_matrix(sparse.random_array((50, 30), density=0.2, rng=draw, dtype=np.float32))
    labels, weights = 2 * draw.integers(0, n_classes, 50), draw.uniform(0, 2, 50).astype(np.float32)
    given: dict[str, Any] = {"strength": 4.0, "row_weights": weights, "n_classes": 6}
    plain = softmax_regression(values, labels, **given)
    monkeypatch.setattr(regression, "_LARGE", 7)
    monkeypatch.setattr(regression, "_fitted", None)
    for found, expected in zip(softmax_regression(values, labels, **given), plain, strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-4)
    assert np.abs(plain[0]).max() > 1


def test_few_texts_with_many_ngrams_are_fitted_by_texts() -> None:
    values = sparse.csr_matrix(sparse.random_array((50, 9_000), density=0.01, rng=np.random.default_rng(0)))
    assert regression._fits_faster_by_texts(values, 3)
    assert not regression._fits_faster_by_texts(sparse.csr_matrix(values[:, :40]), 3)
    assert not regression._fits_faster_by_texts(values, 2)


def test_ngrams_of_one_text_are_fitted_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = []
    fit = regression._fitted

    def told(values: sparse.csr_matrix, *given: Any) -> Any:
        widths.append(values.shape[1])
        return fit(values, *given)

    monkeypatch.setattr(regression, "_fitted", told)
    values = sparse.csr_matrix(np.hstack([np.ones((6, 2)), np.kron(np.eye(6), np.ones(5))]).astype(np.float32))
    softmax_regression(values, np.arange(6) % 3, strength=1.0, row_weights=np.ones(6, np.float32), n_classes=3)
    softmax_regression(values[:, :8], np.arange(6) % 3, strength=1.0, row_weights=np.ones(6, np.float32), n_classes=3)
    assert widths == [2 + 6, 2 + 6]
