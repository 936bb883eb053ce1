"""Measures of ordered classes, against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from glassformer.evaluation.ranks import ranks_of
from glassformer.evaluation.verdict import how_far_off
from tests.evaluation.samples import sample_evaluation, section


def one_hot(answers: np.ndarray, n_classes: int) -> np.ndarray:
    return np.eye(n_classes)[answers]


def test_they_are_those_of_other_libraries() -> None:
    draw = np.random.default_rng(5)
    truth = draw.integers(0, 5, 300)
    answers = np.clip(truth + draw.integers(-1, 3, 300), 0, 4)
    (found,) = ranks_of({"model": one_hot(answers, 5)}, truth, resamples=200)
    assert found.mae.value == pytest.approx(np.abs(truth - answers).mean())
    assert found.spearman is not None
    assert found.spearman.value == pytest.approx(spearmanr(truth, answers).statistic)
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(cohen_kappa_score(truth, answers, weights="quadratic"))
    assert found.mae.low < found.mae.value < found.mae.high
    assert found.off_by == tuple(np.bincount(np.abs(truth - answers)))


def test_one_answer_for_all_rows_has_no_rank_correlation() -> None:
    truth = np.array([0, 1, 2, 2])
    (found,) = ranks_of({"majority": one_hot(np.array([2, 2, 2, 2]), 3)}, truth, resamples=50)
    assert found.spearman is None
    assert found.kappa is not None
    assert found.kappa.value == 0
    (same,) = ranks_of({"same": one_hot(np.array([1, 1]), 3)}, np.array([1, 1]), resamples=50)
    assert same.kappa is None
    assert same.off_by == (2,)


def test_the_report_compares_distances_where_classes_have_an_order() -> None:
    evaluation = sample_evaluation(ordered=True, two_readers=True)
    assert [each.name for each in evaluation.ranks][-1] == evaluation.duel.model.name
    shown = section("ranks", evaluation)
    assert "negative &lt; positive &lt; it depends" in shown
    assert shown.count("<tr") == 1 + len(evaluation.ranks)
    assert sum(evaluation.ranks[-1].off_by) == evaluation.metrics.rows
    assert "TF-IDF + logistic regression: ." in how_far_off(evaluation.ranks)
    assert not section("ranks", sample_evaluation())
