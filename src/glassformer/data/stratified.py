"""Draw rows that keep the proportions of the classes: those of scikit-learn, with 20 bytes for each row.

`StratifiedShuffleSplit` makes lists of the numbers of all rows, which take five times as much.
"""

from __future__ import annotations

import numpy as np

from glassformer.data.arrays import Array, IntArray


def stratified_rows(classes: Array, n_rows: int, seed: int) -> IntArray:
    """Return so many rows, as `StratifiedShuffleSplit` draws those to test on. They are in no order.

    Args:
        classes: (rows,) class numbers from 0 on. Each that occurs has two rows at least.
    """
    sizes = np.bincount(classes)
    sizes = sizes[sizes > 0]
    rng = np.random.RandomState(seed)
    others = _shared_out(sizes, len(classes) - n_rows, rng)
    drawn = _shared_out(sizes - others, n_rows, rng)
    in_order, ends = np.argsort(classes, kind="stable"), np.cumsum(sizes)
    return np.concatenate(
        [
            in_order[end - size : end][rng.permutation(size)[before : before + number]]
            for end, size, before, number in zip(ends, sizes, others, drawn, strict=True)
        ]
    )


def _shared_out(sizes: IntArray, n_rows: int, rng: np.random.RandomState) -> IntArray:
    """Return how many rows of each class are drawn, if the shares of the classes are kept.

    What rounding leaves over goes to the classes that lost most by it. Of those that lost as much, some are drawn.
    """
    exact = sizes / sizes.sum() * n_rows
    found = np.floor(exact)
    lost, left = exact - found, int(n_rows - found.sum())
    for most in np.unique(lost)[::-1]:
        if left <= 0:
            break
        alike = np.flatnonzero(lost == most)
        chosen = rng.choice(alike, size=min(len(alike), left), replace=False)
        found[chosen] += 1
        left -= len(chosen)
    return found.astype(np.int64)
