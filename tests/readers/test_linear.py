from typing import Any

import numpy as np
import pytest

from glassformer.readers import linear
from glassformer.readers.label_loss import label_loss
from glassformer.readers.linear import fit_head
from glassformer.readers.reader import Fold, Rows


def test_rows_of_large_tables_are_fitted_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    vectors, truth = draw.normal(size=(60, 5)).astype(np.float32), draw.integers(0, 3, 60)
    vectors[:, 0] += truth
    weights = draw.uniform(0.5, 2, 60).astype(np.float32)
    given: dict[str, Any] = {"texts": (), "inputs": None, "seed": 0, "loss": label_loss}
    rows = Rows(truth=truth, width=3, weights=weights, **given)
    folds = [Fold(learned=np.arange(40), held_out=np.arange(40, 60))]
    head, scores = fit_head(vectors, rows, folds)
    monkeypatch.setattr(linear, "_ROWS_AT_ONCE", 7)
    again, scores_again = fit_head(vectors, rows, folds)
    np.testing.assert_allclose(again.weights, head.weights, atol=1e-3)
    np.testing.assert_allclose(scores_again, scores, atol=1e-3)
    assert np.abs(head.weights).max() > 0.3
