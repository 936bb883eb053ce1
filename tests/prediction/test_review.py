import numpy as np
import pytest
from pydantic import ValidationError
from scipy.special import softmax
from scipy.stats import binom

from glassformer.errors import UsageError
from glassformer.targets.review import ReviewRule, Thresholds, percent_of

# Ten rows and two labels. The answer is label 0 where its probability is above a half.
PROBS = np.array([[p, 1 - p] for p in (0.95, 0.1, 0.85, 0.8, 0.75, 0.3, 0.65, 0.6, 0.45, 0.52)])
LABELS = np.array([0, 1, 0, 1, 0, 1, 1, 0, 0, 0])
# Confidences: .95 .9 .85 .8 .75 .7 .65 .6 .55 .52, wrong: rows 3 (.8), 6 (.65) and 8 (.55)
FOUND = Thresholds.of(PROBS, LABELS, multilabel=False)


@pytest.mark.parametrize(
    ("share", "below", "automatic", "wrong"),
    [(0.1, 0.95, 1, 0), (0.3, 0.85, 3, 0), (0.35, 0.8, 4, 1), (0.9, 0.55, 9, 3), (0.91, 0.52, 10, 3), (1, 0.52, 10, 3)],
)
def test_the_rule_is_the_confidence_that_the_surest_rows_reach(
    share: float, below: float, automatic: int, wrong: int
) -> None:
    found = FOUND.rule(share)
    assert found.below == pytest.approx(below, abs=2e-6)
    assert found == ReviewRule(below=found.below, held_out_rows=10, automatic=automatic, wrong=wrong)


def test_a_threshold_is_rounded_so_that_its_own_row_stays_above_it() -> None:
    rng = np.random.default_rng(4)
    probs = softmax(rng.normal(size=(500, 3)), axis=1).astype(np.float32)
    found = Thresholds.of(probs, rng.integers(0, 3, 500), multilabel=False)
    assert found.rows == tuple(5 * percent for percent in range(1, 101))
    for percent in (1, 50, 90, 100):
        assert (probs.max(axis=1) >= found.confidence[percent - 1]).sum() == 5 * percent


def test_the_rule_in_words() -> None:
    assert str(FOUND.rule(0.9)) == (
        f"an answer with a confidence below {FOUND.confidence[89]:.6g} needs review. Of 10 held-out rows, 9 had at "
        "least this confidence; 33.3% of these were wrong"
    )
    assert str(Thresholds.of(PROBS, None, multilabel=False).rule(0.9)).endswith("9 had at least this confidence")


def test_label_thresholds_by_hand() -> None:
    """Probabilities of the right label: .95 .9 .85 .75 .7 .6 .52 .45 .35 .2. The 10th of 11 places is the last row."""
    right = [0.95, 0.9, 0.85, 0.75, 0.7, 0.6, 0.52, 0.45, 0.35, 0.2]
    for coverage, place in ((0.5, 6), (0.63, 7), (0.64, 8), (0.8, 9), (0.9, 10)):
        assert FOUND.label_threshold(coverage) == pytest.approx(right[place - 1], abs=2e-6)
    assert FOUND.label_threshold(0.91) == 0.0  # ten rows are too few: all labels


def test_thresholds_never_rise_with_the_share() -> None:
    rng = np.random.default_rng(0)
    found = Thresholds.of(softmax(rng.normal(size=(333, 4)) * 2, axis=1), rng.integers(0, 4, 333), multilabel=False)
    assert found.label_probability is not None
    assert found.wrong is not None
    for falling in (found.confidence, found.label_probability):
        assert list(falling) == sorted(falling, reverse=True)
    for rising in (found.rows, found.wrong):
        assert list(rising) == sorted(rising)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_sets_hold_the_right_label_as_often_as_asked(coverage: float) -> None:
    """Rows of one source, of a model that is wrongly calibrated: split conformal prediction needs no calibration."""
    rng = np.random.default_rng(11)
    held, trials = 0, 400
    for _ in range(trials):
        logits = rng.normal(size=(201, 5)) * 1.5
        labels = rng.multinomial(1, softmax(logits, axis=1)).argmax(axis=1)
        probs = softmax(logits * 3, axis=1)
        found = Thresholds.of(probs[:200], labels[:200], multilabel=False)
        held += probs[200, labels[200]] >= found.label_threshold(coverage)
    exactly = np.ceil(201 * coverage) / 201
    low, high = binom.interval(0.999, trials, exactly)
    assert low <= held <= high
    assert binom.interval(0.999, trials, exactly - 0.1)[1] < held  # a set that misses the mark by .1 would fail


def test_new_rows_are_automatic_as_often_as_asked() -> None:
    rng = np.random.default_rng(12)
    shares = []
    for _ in range(300):
        probs = softmax(rng.normal(size=(400, 3)), axis=1)
        rule = Thresholds.of(probs[:200], None, multilabel=False).rule(0.9)
        shares.append((probs[200:].max(axis=1) >= rule.below).mean())
    assert np.mean(shares) == pytest.approx(0.9, abs=0.01)


def test_equal_confidences_are_on_one_side() -> None:
    probs = np.array([[0.9, 0.1]] * 3 + [[0.6, 0.4]] * 7)
    rule = Thresholds.of(probs, np.zeros(10, int), multilabel=False).rule(0.5)
    assert (rule.below, rule.automatic, rule.wrong) == (0.6, 10, 0)


def test_with_several_labels_the_least_certain_decides_and_all_must_be_right() -> None:
    probs = np.array([[0.9, 0.2], [0.6, 0.01], [0.95, 0.97], [0.3, 0.4]])  # confidences .8 .6 .95 .6
    labels = np.array([[1, 0], [1, 0], [1, 0], [0, 0]])
    found = Thresholds.of(probs, labels, multilabel=True)
    assert [found.rule(share).automatic for share in (0.25, 0.5, 0.75)] == [1, 2, 4]
    assert found.wrong is not None
    assert [found.rule(share).wrong for share in (0.25, 0.5, 1)] == [1, 1, 1]
    with pytest.raises(UsageError, match="this model gives no label sets: they need one label per text"):
        found.label_threshold(0.9)


@pytest.mark.parametrize("share", [0, -0.1, 1.5, 90, float("nan"), float("inf"), 0.925, 0.001])
def test_a_share_is_from_one_percent_to_all(share: float) -> None:
    with pytest.raises(UsageError, match=r"`automatic=.*`: give a share from 0\.01 to 1 in whole percents"):
        FOUND.rule(share)


def test_whole_percents_are_read_as_written() -> None:
    assert [percent_of(float(f"{percent / 100:.2f}"), "x") for percent in range(1, 101)] == list(range(1, 101))


def test_damaged_thresholds_are_refused() -> None:
    good = FOUND.model_dump()
    assert Thresholds.model_validate(good) == FOUND
    for bad in ({"confidence": (0.5,) * 99}, {"rows": (0,) * 100}, {"label_probability": (1.5,) * 100}):
        with pytest.raises(ValidationError):
            Thresholds.model_validate(good | bad)
