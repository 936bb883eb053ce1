"""Which labels are doubtful: confident learning (Northcutt et al. 2021, §3) on held-out probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import Array
from glassformer.data.group_folds import stratified_group_folds
from glassformer.readers.reader import Fold

FOLDS = 5


def folds_apart(labels: Array, groups: Array, *, seed: int = 0) -> list[Fold]:
    """Cut rows into folds that hold out each row once, and rows of a group together.

    Args:
        labels: (rows,) class numbers.
        groups: (rows,) numbers of at least two groups.
    """
    _, groups = np.unique(groups, return_inverse=True)
    fold_of_row = stratified_group_folds(labels, groups, min(FOLDS, int(groups.max()) + 1), seed=seed)
    return [
        Fold(learned=np.flatnonzero(fold_of_row != fold), held_out=np.flatnonzero(fold_of_row == fold))
        for fold in np.unique(fold_of_row)
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Doubts:
    """The rows whose label is doubtful, the most doubtful first.

    Attributes:
        rows: (doubts,) their numbers.
        suggested: (doubts,) the class that the held-out probabilities favour, which is not that of the label.
        estimated_wrong: an estimate of how many labels of all rows are wrong. Hard texts make it too high.
    """

    rows: Array
    suggested: Array
    estimated_wrong: float


def doubtful(probs: Array, labels: Array) -> Doubts:
    """Compare given labels with held-out probabilities.

    The confident joint (eq. 1) says how many rows are doubtful: those off its diagonal. They are the rows with the
    lowest self-confidence, the probability of the given label. On wrong labels that were put into training rows, this
    was more precise than taking the very rows that are off the diagonal (docs/how-it-works/labels.md).

    Args:
        probs: (rows, n_classes)
        labels: (rows,) class numbers.
    """
    joint = confident_joint(probs, labels)
    self_confidence = probs[np.arange(len(labels)), labels]
    best = probs.argmax(axis=1)
    order = np.argsort(self_confidence, kind="stable")
    rows = order[best[order] != labels[order]][: int(joint.sum() - joint.trace())]
    sizes, counted = np.bincount(labels, minlength=len(joint)), joint.sum(axis=1)
    wrong_share = 1 - joint.diagonal() / np.maximum(counted, 1)  # of each label, among the rows that count
    return Doubts(
        rows=rows, suggested=best[rows], estimated_wrong=float((sizes * np.where(counted > 0, wrong_share, 0)).sum())
    )


def confident_joint(probs: Array, labels: Array) -> Array:
    """Count rows by their label and by the class that they seem to have: (n_classes, n_classes).

    A row may have class j if its probability of j is at least the mean probability of j over the rows with the label j.
    It seems to have the most probable of such classes. A row without one does not count.
    """
    n_classes = probs.shape[1]
    sizes = np.bincount(labels, minlength=n_classes)
    given = probs[np.arange(len(labels)), labels]
    thresholds = np.bincount(labels, given, n_classes) / np.maximum(sizes, 1)
    above = np.where(probs >= thresholds, probs, -1.0)
    counts = above.max(axis=1) >= 0
    joint = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(joint, (labels[counts], above.argmax(axis=1)[counts]), 1)
    return joint
