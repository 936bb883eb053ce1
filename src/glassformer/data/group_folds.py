"""Folds of whole groups that keep the proportions of the classes: those of scikit-learn, for many groups.

`StratifiedGroupKFold` computes all proportions anew for each group and fold. 400,000 groups then take minutes. The
folds here are the same, because a group changes the proportions of its own classes alone.
"""

from __future__ import annotations

import numpy as np

from glassformer.data.arrays import Array

_CELLS_AT_ONCE = 10_000_000  # of a dense table (groups, classes)


def stratified_group_folds(classes: Array, groups: Array, n_folds: int, *, seed: int) -> Array:
    """Return the fold of each row, (rows,). No group is in two folds.

    Groups are placed one after another, those with the most uneven classes first. Each goes to the fold in which it
    makes the shares of each class over the folds most alike.

    Args:
        groups: (rows,) group numbers from 0 on, all of them in use.
    """
    _, class_of_row, rows_of_class = np.unique(classes, return_inverse=True, return_counts=True)
    n_classes, n_groups = len(rows_of_class), int(groups.max()) + 1
    cells, rows_of_cell = np.unique(groups.astype(np.int64) * n_classes + class_of_row, return_counts=True)
    group_of_cell, class_of_cell = np.divmod(cells, n_classes)
    starts = np.searchsorted(group_of_cell, np.arange(n_groups + 1))
    shuffled = np.arange(n_groups)
    np.random.RandomState(seed).shuffle(shuffled)
    unevenness = _deviations(starts, class_of_cell, rows_of_cell, n_classes)
    order = shuffled[np.argsort(-unevenness[shuffled], kind="stable")]
    folds = _Folds(rows_of_class, n_folds)
    fold_of_group = np.empty(n_groups, np.int64)
    bounds = zip(order.tolist(), starts[order].tolist(), starts[order + 1].tolist(), strict=True)
    for group, start, end in bounds:
        fold_of_group[group] = folds.place(class_of_cell[start:end], rows_of_cell[start:end])
    return fold_of_group[groups]


def _deviations(starts: Array, class_of_cell: Array, rows_of_cell: Array, n_classes: int) -> Array:
    """Return the standard deviation of the rows of each class, for each group: (groups,)."""
    step = max(1, _CELLS_AT_ONCE // n_classes)
    parts = []
    for first in range(0, len(starts) - 1, step):
        bounds = starts[first : first + step + 1]
        dense = np.zeros((len(bounds) - 1, n_classes))
        part = slice(bounds[0], bounds[-1])
        dense[np.repeat(np.arange(len(dense)), np.diff(bounds)), class_of_cell[part]] = rows_of_cell[part]
        parts.append(dense.std(axis=1))
    return np.concatenate(parts)


class _Folds:
    """How many rows of each class are in each fold, while groups are placed.

    Sums are taken in the order in which scikit-learn takes them, so that rounding breaks ties in the same way.
    """

    def __init__(self, rows_of_class: Array, n_folds: int) -> None:
        self._rows_of_class = rows_of_class
        self._rows = np.zeros((n_folds, len(rows_of_class)))
        self._sizes = [0] * n_folds
        self._deviations = np.zeros((n_folds, len(rows_of_class)))  # of the shares of each class; all lines are equal
        self._diagonal = np.arange(n_folds)

    def place(self, classes: Array, rows: Array) -> int:
        """Add a group with so many rows of each of these classes to the best fold, and return the fold."""
        n_folds, before = len(self._sizes), self._rows[:, classes]
        total = self._rows_of_class[classes]
        tried = np.repeat((before / total)[:, None], n_folds, axis=1)  # (folds, fold that gets the group, classes)
        tried[self._diagonal, self._diagonal] = (before + rows) / total
        away = tried - np.add.reduce(tried, axis=0) / n_folds
        deviations = np.sqrt(np.add.reduce(away * away, axis=0) / n_folds)
        self._deviations[:, classes] = deviations
        best = self._best((np.add.reduce(self._deviations, axis=1) / self._deviations.shape[1]).tolist())
        self._rows[best, classes] += rows
        self._sizes[best] += int(rows.sum())
        self._deviations[:, classes] = deviations[best]
        return best

    def _best(self, deviations: list[float]) -> int:
        """Return the fold with the lowest deviation. Of those that are nearly as low, it is the smallest so far."""
        best, lowest, fewest = 0, np.inf, np.inf
        for fold, (deviation, size) in enumerate(zip(deviations, self._sizes, strict=True)):
            nearly = abs(deviation - lowest) <= 1e-8 + 1e-5 * lowest  # as in numpy.isclose
            if deviation < lowest or (nearly and size < fewest):
                best, lowest, fewest = fold, deviation, size
        return best
