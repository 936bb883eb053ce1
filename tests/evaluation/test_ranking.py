import numpy as np
import pytest
from sklearn.metrics import auc, average_precision_score

from glassformer.evaluation.metrics import roc_auc
from glassformer.evaluation.ranking import MOST_POINTS, class_thresholds, ranking

RNG = np.random.default_rng(5)
LABELS = (RNG.random(2000) < 0.2).astype(np.int64)
SCORES = 1 / (1 + np.exp(-(1.5 * LABELS - 1 + RNG.normal(size=2000))))
PROBS = np.stack([1 - SCORES, SCORES], axis=1)


def test_two_classes_give_the_curves_of_the_rarer_one() -> None:
    found = ranking(PROBS, LABELS, ("no", "yes"))
    assert found is not None
    assert found.positive == "yes"
    assert found.base_rate == LABELS.mean()
    assert found.curves.average_precision == average_precision_score(LABELS, SCORES)
    turned = ranking(PROBS[:, ::-1], 1 - LABELS, ("yes", "no"))
    assert turned == found.model_copy(update={"positive": "yes"})


def test_few_points_keep_the_area() -> None:
    found = ranking(PROBS, LABELS, ("no", "yes"))
    assert found is not None
    x, y = zip(*found.curves.roc, strict=True)
    assert len(x) <= MOST_POINTS + 1
    assert (x[0], y[0]) == (0, 0)
    assert (x[-1], y[-1]) == (1, 1)
    area, _ = roc_auc(PROBS, LABELS, ("no", "yes"))
    assert auc(x, y) == pytest.approx(area, abs=2e-3)
    recall, precision = zip(*found.curves.precision_recall, strict=True)
    assert list(recall) == sorted(recall)
    assert (recall[0], precision[0]) == (0, 1)
    assert precision[-1] == pytest.approx(LABELS.mean(), abs=1e-4)


@pytest.mark.parametrize("multilabel", [False, True])
def test_several_classes_are_ranked_together(multilabel: bool) -> None:
    probs = RNG.dirichlet(np.ones(4), size=90)
    numbers = RNG.integers(0, 4, 90)
    hot = np.eye(4)[numbers]
    found = ranking(probs, hot if multilabel else numbers, list("abcd"))
    assert found is not None
    assert found.positive is None
    assert found.base_rate == 0.25
    assert found.curves.average_precision == average_precision_score(hot.ravel(), probs.ravel())


def test_rows_of_one_kind_have_no_curves() -> None:
    assert ranking(PROBS[:3], np.zeros(3, dtype=np.int64), ("no", "yes")) is None


def test_thresholds_count_right_rows_and_all_rows() -> None:
    probs = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.2, 0.8], [0.65, 0.35]])
    (found,) = class_thresholds(probs, np.array([0, 1, 1, 0, 0]), ("no", "yes"))
    assert (found.name, found.rows) == ("yes", 2)
    assert found.points == ((0.8, 1, 2), (0.6, 2, 3), (0.35, 2, 4), (0.1, 2, 5))


def test_few_thresholds_stand_for_many() -> None:
    (found,) = class_thresholds(PROBS, LABELS, ("no", "yes"))
    assert len(found.points) <= MOST_POINTS + 1
    for threshold, right, rows in found.points:
        reaching = PROBS[:, 1] >= threshold
        assert (reaching.sum(), LABELS[reaching].sum()) == (rows, right)
    assert found.points[-1][1:] == (LABELS.sum(), len(LABELS))


def test_the_rarest_classes_have_thresholds() -> None:
    numbers = np.repeat(np.arange(8), np.arange(1, 9))
    found = class_thresholds(RNG.dirichlet(np.ones(8), size=36), numbers, list("abcdefgh"))
    assert [(each.name, each.rows) for each in found] == list(zip("abcdef", range(1, 7), strict=True))
    assert class_thresholds(PROBS[:3], np.zeros(3, dtype=np.int64), ("no", "yes")) == ()
