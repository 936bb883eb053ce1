import numpy as np
import pytest
from scipy import sparse

from glassformer.readers.counting.fitting import log_count_ratios


def test_log_count_ratios_add_one_to_both_counts() -> None:
    """Wang & Manning 2012, eq. 1, by hand: p = (1, 0) + 1 of one text, q = (1, 2) + 1 of two."""
    present = sparse.csr_matrix(np.array([[1, 0], [1, 1], [0, 1]], np.float32))
    found = log_count_ratios(present, np.array([[True], [False], [False]]), np.ones(3, np.float32))
    assert found[:, 0] == pytest.approx(np.log([(2 / 3) / (2 / 5), (1 / 3) / (3 / 5)]), rel=1e-6)
