"""Baselines that a model of a number should beat: the mean, and ridge regression on TF-IDF."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold

from glassformer.evaluation.baselines import FOLDS, FOLDS_SEED, word_features
from glassformer.evaluation.row_features import RowFeatures

PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_MOST_ROWS_TO_CHOOSE_BY = 20_000


@dataclass(frozen=True, kw_only=True)
class NumberOutcome:
    """The answers of a baseline on the measured rows, and its cost."""

    name: str
    description: str
    answers: NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float
    size_bytes: int


def answer_with_mean(truth: NDArray[np.float64], rows: int) -> NumberOutcome:
    """Answer every text with the mean of the training rows."""
    return NumberOutcome(
        name="the mean",
        description="always the mean of the training rows",
        answers=np.full(rows, truth.mean()),
        fit_seconds=0.0,
        predict_seconds=0.0,
        size_bytes=8,
    )


def answer_with_ridge(
    train_texts: Sequence[str],
    truth: NDArray[np.float64],
    texts: Sequence[str],
    groups: NDArray[np.generic] | None = None,
) -> NumberOutcome:
    """Fit ridge regression on TF-IDF of words and word pairs, and answer the measured texts.

    The penalty with the smallest squared error in 5-fold cross-validation on the training rows is taken, or in a part
    of a large table. The features are those of the baseline for labels.

    Args:
        groups: a group for each training row. Cross-validation splits no group.
    """
    began = time.perf_counter()
    learned = RowFeatures(train_texts, word_features)
    features = learned.matrix
    rows = np.random.default_rng(FOLDS_SEED).permutation(len(truth))[:_MOST_ROWS_TO_CHOOSE_BY]
    penalty = _choose(features[rows], truth[rows], None if groups is None else groups[rows])
    model = Ridge(alpha=penalty, solver="sparse_cg").fit(features, truth)
    fitted = time.perf_counter()
    answers = model.predict(learned.of(texts)).astype(np.float64)
    names, idf = learned.names_and_idf
    return NumberOutcome(
        name="TF-IDF + ridge regression",
        description=f"words and word pairs, sublinear TF-IDF, ridge regression, α = {penalty:g} by cross-validation",
        answers=answers,
        fit_seconds=fitted - began,
        predict_seconds=time.perf_counter() - fitted,
        size_bytes=sum(len(name.encode()) for name in names) + 4 * (idf + len(model.coef_) + 1),
    )


def _choose(features: NDArray[np.generic], truth: NDArray[np.float64], groups: NDArray[np.generic] | None) -> float:
    """Return the penalty with the smallest squared error on held-out rows."""
    n_groups = 0 if groups is None else len(np.unique(groups))
    parts = min(FOLDS, n_groups if n_groups > 1 else len(truth))
    if parts < 2:
        return 1.0
    cross = GroupKFold(parts) if n_groups > 1 else KFold(parts, shuffle=True, random_state=FOLDS_SEED)
    folds = list(cross.split(features, groups=groups))

    def error(penalty: float) -> float:
        off = [
            Ridge(alpha=penalty, solver="sparse_cg").fit(features[learned], truth[learned]).predict(features[held_out])
            - truth[held_out]
            for learned, held_out in folds
        ]
        return float(np.square(np.concatenate(off)).sum())

    return min(PENALTIES, key=error)
