"""Cut rows into folds: those to learn from, and those that are held out."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from glassformer.data.arrays import Array, IntArray
from glassformer.readers.reader import Fold

Labels = Array
Rows = IntArray
FOLDS = 4
_MOST_COPIES, _FEWEST_TEXTS = 3, 20
"""Copies of a row may be in several parts if there are more rows for each distinct text, or fewer texts. New rows will
repeat these texts too, and too few would be left to learn from."""


def folds_of(labels: Labels, *, seed: int, groups: Labels | None = None, texts: Labels | None = None) -> list[Fold]:
    """Split rows into folds, fewer than `FOLDS` if there are too few rows or groups.

    Without groups, each class keeps its proportion as far as it has enough rows.

    Args:
        labels: class numbers (rows,), or ones and zeros (rows, n_classes).
        groups: (rows,) a number for each group. No group is split, unless it is the only one.
        texts: (rows,) a number for each text. Without groups, rows with the same text are held out together: otherwise
            a reader would know the rows that it is measured by. This does not hold for tables that repeat few texts
            (see `repeats_few`).
    """
    if groups is None and texts is not None:
        _, firsts, of_row = np.unique(texts, return_index=True, return_inverse=True)
        if len(firsts) < len(texts) and not repeats_few(texts):
            return [fold.of_copies(firsts[of_row], firsts) for fold in folds_of(labels[firsts], seed=seed)]
    rows = np.arange(len(labels))
    if groups is not None and (n_groups := len(np.unique(groups))) > 1:
        cut = GroupKFold(min(FOLDS, n_groups)).split(rows, groups=groups)
    elif labels.ndim == 1 and np.bincount(labels).max() >= FOLDS:
        cut = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, labels)
    else:
        cut = KFold(min(FOLDS, len(rows)), shuffle=True, random_state=seed).split(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class may have fewer rows than there are folds
        return [Fold(learned=learned, held_out=held) for learned, held in cut]


def repeats_few(texts: Labels) -> bool:
    """Return whether rows repeat texts, of which there are fewer than 20, or fewer than a third of the rows."""
    n_texts = len(np.unique(texts))
    return n_texts < len(texts) and (n_texts < _FEWEST_TEXTS or len(texts) > _MOST_COPIES * n_texts)


def folds_within(fold: Fold, labels: Labels, seed: int, groups: Labels | None, texts: Labels | None) -> list[Fold]:
    """Return folds within the rows that a fold learns from. `groups` and `texts` are those of these rows alone."""
    inner = folds_of(labels[fold.learned], seed=seed, groups=groups, texts=texts)
    return [Fold(learned=fold.learned[each.learned], held_out=fold.learned[each.held_out]) for each in inner]
