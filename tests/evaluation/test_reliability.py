import numpy as np
import pytest

from glassformer.evaluation.reliability import N_BINS, confidences, reliability


def test_ece_hand_worked() -> None:
    # .9, .95 in one bin (mean .925, half right), .55 in another (right): (2 · |.5 − .925| + 1 · |1 − .55|) / 3
    found = reliability(np.array([0.95, 0.94, 0.55]), np.array([True, False, True]))
    assert found.ece == pytest.approx((abs(1 - 0.95 - 0.94) + 0.45) / 3)
    assert [found_bin.count for found_bin in found.bins] == [0] * 8 + [1] + [0] * 5 + [2]


def test_the_edges_of_confidence_have_a_bin() -> None:
    found = reliability(np.array([0.0, 1.0]), np.array([False, True]))
    assert found.ece == 0
    assert found.bins[0].count == found.bins[N_BINS - 1].count == 1


@pytest.mark.parametrize("k", range(1, N_BINS + 1))
def test_a_confidence_on_an_edge_is_in_the_bin_below(k: int) -> None:
    """Bin k is ((k - 1)/15, k/15], as in Guo et al. 2017; a hair above its end begins the next one."""
    above = min(1.0, float(np.nextafter(k / N_BINS, 2)))
    found = reliability(np.array([k / N_BINS, above]), np.array([True, True]))
    expected = [0] * N_BINS
    expected[k - 1] += 1
    expected[min(k, N_BINS - 1)] += 1
    assert [bin_.count for bin_ in found.bins] == expected
    assert (found.bins[k - 1].low, found.bins[k - 1].high) == ((k - 1) / N_BINS, k / N_BINS)


def test_several_labels_give_one_decision_each() -> None:
    sure, right = confidences(np.array([[0.9, 0.2]]), np.array([[1, 1]], dtype=np.uint8), True)
    assert sure.tolist() == pytest.approx([0.9, 0.8])
    assert right.tolist() == [True, False]
