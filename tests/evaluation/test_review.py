import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import average_precision_score

from glassformer.evaluation.metrics import measure
from glassformer.evaluation.ranking import MOST_CLASSES, class_curves
from glassformer.evaluation.report import render
from glassformer.evaluation.result import Review
from glassformer.evaluation.review import label_sets, review, surest
from glassformer.targets.review import Thresholds
from tests.evaluation.samples import sample_evaluation, section
from tests.support import flat

PROBS = np.array([[0.95, 0.05], [0.1, 0.9], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6]])
LABELS = np.array([0, 1, 1, 0, 0])  # wrong: the rows with .8 and .6
NAMES = ("no", "yes")


def found(probs: np.ndarray, labels: np.ndarray, thresholds: Thresholds | None) -> Review:
    names = [f"c{c}" for c in range(probs.shape[1])]
    return review(probs, labels, names, thresholds=thresholds, resamples=200)


def random_rows(count: int, seed: int, n_classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(count, n_classes)) * 2
    probs = softmax(logits, axis=1)
    return probs, np.array([rng.choice(n_classes, p=row) for row in probs])


def test_the_curve_by_hand() -> None:
    assert found(PROBS, LABELS, None).curve == ((0.2, 0), (0.4, 0), (0.6, 0.33333), (0.8, 0.25), (1, 0.4))


def test_rows_of_the_same_confidence_are_one_point() -> None:
    probs = np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4], [0.6, 0.4]])
    assert found(probs, np.array([0, 1, 0, 0]), None).curve == ((0.25, 0), (1, 0.25))


def test_the_curve_goes_from_few_rows_to_all() -> None:
    probs, labels = random_rows(700, 1)
    curve = found(probs, labels, None).curve
    shares = [share for share, _ in curve]
    assert shares == sorted(set(shares))
    assert shares[0] >= 0.05
    assert curve[-1][0] == 1
    assert curve[-1][1] == pytest.approx((probs.argmax(axis=1) != labels).mean(), abs=1e-5)
    assert all(0 <= error <= 1 for _, error in curve)


def test_the_surest_share() -> None:
    confidence = np.array([0.5, 0.9, 0.7, 0.7, 0.6])
    assert surest(confidence, 0.2).tolist() == [False, True, False, False, False]
    assert surest(confidence, 0.4).tolist() == [False, True, True, True, False]
    assert surest(confidence, 0.8).sum() == 4
    assert surest(confidence, 1.0).all()


def test_a_threshold_of_held_out_rows_is_measured_on_other_rows() -> None:
    thresholds = Thresholds.of(*random_rows(500, 2), multilabel=False)
    probs, labels = random_rows(400, 3)
    shares = found(probs, labels, thresholds).shares
    assert [each.asked for each in shares] == [0.8, 0.9, 0.95, 1.0]
    wrong, confidence = probs.argmax(axis=1) != labels, probs.max(axis=1)
    for each in shares[:3]:
        applied, rule = each.threshold, thresholds.rule(each.asked)
        assert applied is not None
        assert applied.error is not None
        assert rule.wrong is not None
        automatic = confidence >= rule.below
        assert (applied.confidence, applied.held_out_rows) == (rule.below, round(500 * each.asked))
        assert applied.held_out_error == rule.wrong / rule.automatic
        assert applied.coverage.value == automatic.mean()
        assert applied.error.value == wrong[automatic].mean()
        assert applied.error.low < applied.error.value < applied.error.high
        assert each.error.value == wrong[surest(confidence, each.asked)].mean()
        got = dict(found(probs, labels, thresholds).coverage_got)
        assert got[each.asked] == automatic.mean()
    assert shares[3].threshold is None
    assert shares[3].error.value == wrong.mean()


def test_answers_that_round_to_certainty_are_automatic_as_in_predict() -> None:
    """Thresholds are found, and asked for, in single precision, where 1 − 1e-8 is 1."""
    probs = np.array([[1 - 1e-8, 1e-8]] * 5)
    sure = Thresholds.of(probs.astype(np.float32), np.zeros(5, int), multilabel=False)
    result = found(probs, np.zeros(5, int), sure)
    applied = result.shares[0].threshold
    assert applied is not None
    assert (applied.confidence, applied.coverage.value, dict(result.sets_got)[0.8]) == (1, 1, 1)


def test_answers_are_counted_by_class() -> None:
    thresholds = Thresholds.of(*random_rows(500, 2), multilabel=False)
    probs, labels = random_rows(400, 3)
    result = found(probs, labels, thresholds)
    applied = result.shares[1].threshold
    assert applied is not None
    assert applied.error is not None
    assert sum(each.rows for each in result.by_class) == 400
    automatic, wrong = (sum(getattr(each, name) for each in result.by_class) for name in ("automatic", "wrong"))
    assert automatic == round(400 * applied.coverage.value)
    assert wrong == round(automatic * applied.error.value)


def test_no_row_above_the_threshold_has_no_error() -> None:
    sure = Thresholds.of(np.array([[0.99, 0.01]] * 20), np.zeros(20, int), multilabel=False)
    applied = found(np.array([[0.6, 0.4]] * 5), LABELS, sure).shares[0].threshold
    assert applied is not None
    assert (applied.coverage.value, applied.error) == (0, None)


def test_label_sets_by_hand() -> None:
    held_out = np.array([[p, 1 - p] for p in (0.9, 0.8, 0.7, 0.45)])
    thresholds = Thresholds.of(held_out, np.zeros(4, int), multilabel=False)  # for 80%, the 4th of 4 rows: .45
    probs = np.array([[0.95, 0.05], [0.5, 0.5], [0.56, 0.44], [0.2, 0.8]])
    sets = label_sets(probs, np.array([0, 1, 1, 1]), NAMES, 0.8, thresholds, resamples=100)
    assert sets.probability == pytest.approx(0.45, abs=1e-6)
    assert (sets.coverage.value, sets.mean_size, sets.sizes) == (0.75, 1.25, (0, 3, 1))
    assert [(each.rows, each.covered) for each in sets.per_class] == [(1, 1), (3, 2)]
    got = dict(found(probs, np.array([0, 1, 1, 1]), thresholds).sets_got)
    assert (got[0.8], got[0.95]) == (0.75, 1)  # for 95%, four rows are too few: all labels
    half = label_sets(probs[2:3], np.array([1]), NAMES, 0.5, thresholds, resamples=100)  # from .7 on: no label
    assert (half.sizes, half.coverage.value) == ((1,), 0)


def test_with_several_labels_there_are_thresholds_and_no_sets() -> None:
    rng = np.random.default_rng(5)
    probs, labels = rng.random((300, 3)), rng.integers(0, 2, (300, 3))
    result = found(probs, labels, Thresholds.of(probs, labels, multilabel=True))
    assert (result.sets, result.by_class, result.missing_because) == ((), (), None)
    applied = result.shares[1].threshold
    assert applied is not None
    assert applied.coverage.value == 0.9


def test_a_model_without_thresholds_says_why() -> None:
    result = found(PROBS, LABELS, None)
    assert all(each.threshold is None for each in result.shares)
    assert result.sets == ()
    html = section("review", sample_evaluation().model_copy(update={"review": result}))
    assert "held-out rows: it has none, or forgot them. Train" in html
    assert "Label sets" not in html


def test_the_report_shows_shares_classes_and_sets() -> None:
    evaluation = sample_evaluation()
    html = flat(render(evaluation))
    assert '<section id="review"><h2>Send to a person</h2>' in html
    assert evaluation.review is not None
    (chosen,) = (each for each in evaluation.review.sets if each.asked == 0.9)
    covered = f"{chosen.coverage.value:.3f}".removeprefix("0")
    said = f"If 90% of the sets should hold the right label, {covered} (95%: "
    assert said in html
    assert html.count("threshold for 90%</text>") == 1
    several = render(sample_evaluation(90, 4, multilabel=True))
    assert "Send to a person" in several
    assert "Label sets" not in several
    assert render(evaluation.model_copy(update={"review": None})).count("Send to a person") == 0


def test_the_rarest_classes_have_curves_of_their_own() -> None:
    probs, labels = random_rows(600, 6, n_classes=9)
    labels[labels == 8] = 7  # class 8 has no row
    names = [f"c{c}" for c in range(9)]
    curves = class_curves(probs, labels, names)
    assert len(curves) == MOST_CLASSES
    rates = [each.base_rate for each in curves]
    assert rates == sorted(rates)
    assert rates[0] > 0
    for each in curves:
        c = names.index(each.name)
        assert each.base_rate == (labels == c).mean()
        assert each.average_precision == average_precision_score(labels == c, probs[:, c])
        recall, precision = zip(*each.points, strict=True)
        assert (recall[0], recall[-1]) == (0, 1)
        assert precision[-1] == pytest.approx(each.base_rate, abs=1e-4)
    per_class = measure(probs, labels, names, resamples=2).per_class
    assert per_class[8].average_precision is None
    assert per_class[0].average_precision == average_precision_score(labels == 0, probs[:, 0])
    assert class_curves(probs[:, :2], labels % 2, NAMES) == ()


def test_curves_of_classes_are_drawn_with_their_names() -> None:
    html = flat(render(sample_evaluation(140, 27)))
    assert html.count("Precision and recall, class ") == MOST_CLASSES
    assert "<p>The rarest classes against all others, with average precision (AP).</p>" in html
    assert "<p>Each class against all others" in flat(render(sample_evaluation()))
