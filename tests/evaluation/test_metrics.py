import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from glassformer.evaluation.metrics import (
    N_BINS,
    confidences,
    confusion_counts,
    correct_rows,
    losses,
    measure,
    reliability,
    roc_auc,
)

NAMES = ("down", "level", "up", "gone")


def random_probs(rng: np.random.Generator, n: int, n_classes: int) -> np.ndarray:
    return rng.dirichlet(np.ones(n_classes), size=n)


@given(st.integers(0, 10_000), st.integers(3, 60))
def test_single_label_scores_agree_with_scikit_learn(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    probs, labels = random_probs(rng, n, 4), rng.integers(0, 4, n)
    predicted = probs.argmax(axis=1)
    ours = measure(probs, labels, NAMES, resamples=11)
    assert ours.accuracy.value == pytest.approx(reference.accuracy_score(labels, predicted))
    for average, scores in (("macro", ours.macro), ("weighted", ours.weighted)):
        theirs = reference.precision_recall_fscore_support(labels, predicted, average=average, zero_division=0)
        assert (scores.precision, scores.recall, scores.f1) == pytest.approx(theirs[:3])
    assert ours.macro_f1.value == pytest.approx(ours.macro.f1)
    each = reference.precision_recall_fscore_support(labels, predicted, labels=range(4), zero_division=0)
    assert [scores.f1 for scores in ours.per_class] == pytest.approx(list(each[2]))
    assert [scores.support for scores in ours.per_class] == list(each[3])
    assert ours.log_loss == pytest.approx(reference.log_loss(labels, probs, labels=range(4)))


@given(st.integers(0, 10_000), st.integers(2, 50))
def test_multilabel_scores_agree_with_scikit_learn(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    probs, labels = rng.random((n, 4)), (rng.random((n, 4)) < 0.4).astype(np.uint8)
    labels[0], labels[1] = 1, 0  # so that every label occurs and ROC-AUC is defined
    predicted = probs >= 0.5
    ours = measure(probs, labels, NAMES, resamples=11)
    assert ours.accuracy.value == pytest.approx(reference.accuracy_score(labels, predicted))
    assert ours.micro is not None
    for average, scores in (("macro", ours.macro), ("weighted", ours.weighted), ("micro", ours.micro)):
        theirs = reference.precision_recall_fscore_support(labels, predicted, average=average, zero_division=0)
        assert (scores.precision, scores.recall, scores.f1) == pytest.approx(theirs[:3])
    assert ours.roc_auc == pytest.approx(reference.roc_auc_score(labels, probs, average="macro"))
    each_cell = reference.log_loss(labels.ravel(), probs.ravel(), labels=[0, 1])
    assert ours.log_loss == pytest.approx(each_cell)


def test_hand_worked_confusion() -> None:
    # 3 down, 2 up: two downs found, one up found
    probs = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9]])
    labels = np.array([0, 0, 0, 1, 1])
    ours = measure(probs, labels, ("down", "up"), resamples=50)
    assert confusion_counts(probs, labels).tolist() == [[2, 1], [1, 1]]
    assert ours.accuracy.value == pytest.approx(3 / 5)
    assert ours.per_class[0].precision == pytest.approx(2 / 3)
    assert ours.per_class[1].recall == pytest.approx(1 / 2)
    assert ours.per_class[1].predicted == 2
    assert ours.macro.f1 == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert ours.accuracy.low <= 0.6 <= ours.accuracy.high
    # pairs (down, up) ordered rightly by p(up): .3 beats .1; .9 beats .1, .4, .8: 4 of 6
    assert ours.roc_auc == pytest.approx(4 / 6)


def test_many_class_auc_is_the_mean_of_each_against_the_rest() -> None:
    rng = np.random.default_rng(3)
    probs, labels = random_probs(rng, 80, 4), rng.integers(0, 4, 80)
    value, reason = roc_auc(probs, labels, NAMES)
    assert value == pytest.approx(reference.roc_auc_score(labels, probs, multi_class="ovr", average="macro"))
    assert reason is None


def test_auc_of_one_class_is_missing_with_a_reason() -> None:
    value, reason = roc_auc(np.array([[0.2, 0.8], [0.4, 0.6]]), np.array([1, 1]), ("down", "up"))
    assert value is None
    assert reason is not None
    assert "down" in reason


def test_a_class_that_never_occurs_costs_no_macro_and_no_warning() -> None:
    probs = np.eye(4)[[0, 1, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = measure(probs, np.array([0, 1, 1]), NAMES, resamples=9)
    assert ours.macro.f1 == 1
    assert ours.per_class[3].f1 == 0


def test_a_certain_wrong_answer_has_a_finite_log_loss() -> None:
    assert 30 < losses(np.array([[1.0, 0.0]]), np.array([1]))[0, 0] < 40


def test_a_multilabel_row_is_right_only_as_a_whole() -> None:
    probs = np.array([[0.9, 0.2, 0.5], [0.9, 0.2, 0.4]])
    labels = np.array([[1, 0, 1], [1, 0, 1]], dtype=np.uint8)
    assert correct_rows(probs, labels).tolist() == [True, False]


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
    sure, right = confidences(np.array([[0.9, 0.2]]), np.array([[1, 1]], dtype=np.uint8))
    assert sure.tolist() == pytest.approx([0.9, 0.8])
    assert right.tolist() == [True, False]
