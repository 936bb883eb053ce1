from typing import Any

import numpy as np
import pytest

from glassformer.data.arrays import FloatArray
from glassformer.readers import linear
from glassformer.readers.label_loss import label_loss
from glassformer.readers.linear import fit_head
from glassformer.readers.reader import Fold, Rows


def learned() -> tuple[FloatArray, Rows, list[Fold]]:
    draw = np.random.default_rng(0)
    vectors, truth = draw.normal(size=(60, 5)).astype(np.float32), draw.integers(0, 3, 60)
    vectors[:, 0] += truth
    weights = draw.uniform(0.5, 2, 60).astype(np.float32)
    given: dict[str, Any] = {"texts": (), "inputs": None, "seed": 0, "loss": label_loss}
    rows = Rows(truth=truth, width=3, weights=weights, **given)
    return vectors, rows, [Fold(learned=np.arange(40), held_out=np.arange(40, 60))]


def test_rows_of_large_tables_are_fitted_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    head, scores = fit_head(*learned())
    monkeypatch.setattr(linear, "_ROWS_AT_ONCE", 7)
    again, scores_again = fit_head(*learned())
    np.testing.assert_allclose(again.weights, head.weights, atol=1e-3)
    np.testing.assert_allclose(scores_again, scores, atol=1e-3)
    assert np.abs(head.weights).max() > 0.3


def test_of_very_many_rows_some_are_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = fit_head(*learned())
    monkeypatch.setattr(linear, "_MOST_ROWS", 30)
    some, scores = fit_head(*learned())
    assert scores.shape == (20, 3)
    assert not np.allclose(some.weights, whole.weights, atol=1e-3)
    assert np.corrcoef(some.weights.ravel(), whole.weights.ravel())[0, 1] > 0.5
