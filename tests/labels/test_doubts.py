import numpy as np
import pytest

from glassformer.labels.answering import held_out_probabilities, rows_of
from glassformer.labels.doubts import confident_joint, doubtful, folds_apart
from tests.labels.samples import opinions

PROBABILITIES = np.array(
    [
        [0.9, 0.1, 0.0],
        [0.7, 0.3, 0.0],
        [0.2, 0.8, 0.0],  # of class 0, and more of class 1 than its own rows
        [0.4, 0.6, 0.0],
        [0.3, 0.7, 0.0],
        [0.8, 0.2, 0.0],  # of class 1, and more of class 0 than its own rows
        [0.1, 0.3, 0.6],
        [0.0, 0.0, 1.0],
    ]
)
LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2])


def test_the_confident_joint_by_hand() -> None:
    """The means of the own class are .6, .5 and .8. The seventh row reaches none of them."""
    assert confident_joint(PROBABILITIES, LABELS).tolist() == [[2, 1, 0], [1, 2, 0], [0, 0, 1]]


def test_as_many_rows_as_are_off_the_diagonal_are_doubtful() -> None:
    found = doubtful(PROBABILITIES, LABELS)
    assert found.rows.tolist() == [2, 5]
    assert found.suggested.tolist() == [1, 0]
    assert found.estimated_wrong == pytest.approx(3 / 3 + 3 / 3)


def test_a_label_without_confident_rows_is_not_estimated() -> None:
    """The third class has one row, which is its own mean; the others are sure."""
    sure = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = doubtful(sure, np.array([0, 0, 1]))
    assert (len(found.rows), found.estimated_wrong) == (0, 0.0)


def test_held_out_probabilities_do_not_know_the_label_of_a_row() -> None:
    """Turned labels of a few rows are found; a reader that had learned them would repeat them."""
    rows = opinions(120)
    texts = [text for text, _ in rows]
    right = np.array([label == "good" for _, label in rows]).astype(np.int64)
    turned = np.array([3, 10, 57, 58, 101])
    labels = right.copy()
    labels[turned] = 1 - labels[turned]
    shares: list[float] = []
    labelled = rows_of(texts, labels, ("bad", "good"))
    probabilities = held_out_probabilities(labelled, folds_apart(labels, np.arange(120)), shares.append)
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert (probabilities.argmax(axis=1) == right).all()
    found = doubtful(probabilities, labels)
    assert len(found.rows) >= 3
    assert set(found.rows.tolist()) <= set(turned.tolist())
    assert (found.suggested == right[found.rows]).all()
    assert shares == sorted(shares)


def test_rows_of_a_group_are_held_out_together() -> None:
    """Two rows have the same word, which nothing else has. Held out together, it tells neither of them the label."""
    rows = opinions(60)
    texts = [text for text, _ in rows] + ["xyzzyx", "xyzzyx"]
    labels = np.array([label == "good" for _, label in rows] + [True, True]).astype(np.int64)
    labelled = rows_of(texts, labels, ("bad", "good"))
    apart = held_out_probabilities(labelled, folds_apart(labels, np.arange(62)))
    together = held_out_probabilities(labelled, folds_apart(labels, np.append(np.arange(61), 60)))
    assert together[60] == pytest.approx(together[61], abs=1e-6)
    assert together[60, 1] < 0.5 < 0.9 < apart[60, 1]
