"""Baselines that a model of a number should beat: the mean, and ridge regression on TF-IDF."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold

from glassformer.data.arrays import Numbers
from glassformer.evaluation.baselines import FOLDS, FOLDS_SEED, RowFeatures

PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_MOST_ROWS_TO_CHOOSE_BY = 20_000


class MeanBaseline:
    """Answers every text with the mean of the training rows."""

    name = "the mean"
    description = "always the mean of the training rows"
    notes: tuple[str, ...] = ()
    size_bytes = 8

    def fit(self, texts: Sequence[str], truth: Numbers) -> Self:  # noqa: ARG002
        self.mean = truth.mean()
        return self

    def answers(self, texts: Sequence[str]) -> Numbers:
        return np.full(len(texts), self.mean)


class RidgeBaseline:
    """Ridge regression on TF-IDF of words and word pairs. The features are those of the baseline for labels.

    The penalty with the smallest squared error in 5-fold cross-validation on the training rows is taken, or in a part
    of a large table.

    Args:
        groups: a group for each training row. Cross-validation splits no group.
    """

    name = "TF-IDF + ridge regression"
    notes: tuple[str, ...] = ()

    def __init__(self, groups: NDArray[np.generic] | None = None) -> None:
        self.groups = groups

    def fit(self, texts: Sequence[str], truth: Numbers) -> Self:
        self.features = RowFeatures(texts)
        matrix, groups = self.features.matrix, self.groups
        rows = np.random.default_rng(FOLDS_SEED).permutation(len(truth))[:_MOST_ROWS_TO_CHOOSE_BY]
        penalty = _choose(matrix[rows], truth[rows], None if groups is None else groups[rows])
        self.description = (
            f"words and word pairs, sublinear TF-IDF, ridge regression, α = {penalty:g} by cross-validation"
        )
        self.model = Ridge(alpha=penalty, solver="sparse_cg").fit(matrix, truth)
        return self

    def answers(self, texts: Sequence[str]) -> Numbers:
        return self.model.predict(self.features.of(texts)).astype(np.float64)

    @property
    def size_bytes(self) -> int:
        return self.features.size_bytes + 4 * (len(self.model.coef_) + 1)


def _choose(features: NDArray[np.generic], truth: Numbers, groups: NDArray[np.generic] | None) -> float:
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
