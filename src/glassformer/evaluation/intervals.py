"""Confidence intervals: bootstrap, normal and Wilson's, also of paired differences; and McNemar's exact test."""

import math
from collections.abc import Callable
from typing import TypedDict, Unpack

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import NDArray

from glassformer.evaluation.record import Estimate

RESAMPLES = 2_000
LEVEL = 0.95
_Z = 1.959963984540054  # of a normal distribution, (1 + LEVEL) / 2 lies below it; scipy.stats is slow to import
CHUNK_CELLS = 8_000_000  # keeps one chunk of resampled counts near 64 MB


class Draws(TypedDict, total=False):
    """How rows are drawn anew for an interval.

    `seed` is 0 and `resamples` `RESAMPLES` if they are not given. `worth` is the share of the rows that counts as
    independent (see `worth_of_folds`), 1 if all of them do. Each resample draws that many.
    """

    seed: int
    resamples: int
    worth: float


Statistic = Callable[[Float[np.ndarray, "resamples k"]], Float[np.ndarray, " resamples"]]


def bootstrap(
    patterns: Shaped[np.ndarray, "m k"],
    counts: Int[np.ndarray, " m"],
    statistic: Statistic,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    worth: float = 1.0,
) -> Estimate:
    """Return the 95% percentile bootstrap interval (Efron 1979) of a statistic that is a function of sums over rows.

    Accuracy, F1, log loss and their differences are such functions. Rows with the same values form one `pattern`, which
    occurs `counts` times. Drawing n rows with replacement is then one multinomial draw over the patterns. It has the
    same distribution as drawing row numbers, and is much faster. With a `worth` below 1, fewer rows are drawn (Bickel,
    Götze & van Zwet 1997).

    Args:
        patterns: the distinct rows, k numbers each (see `distinct_rows`).
        counts: how often each pattern occurs. Their sum is the number of rows.
        statistic: maps the sums over rows, one line per resample, to one number per line. It is the same for sums
            over any number of such rows. Undefined values (NaN) are left out of the interval.
        seed, resamples, worth: see `Draws`.
    """
    values = patterns.astype(np.float64)
    rows = int(counts.sum())
    drawn = max(min(2, rows), round(rows * worth))  # of one row alone, R² and a correlation are undefined
    rng = np.random.default_rng(seed)
    per_chunk = max(1, CHUNK_CELLS // len(counts))
    draws = np.concatenate(
        [
            statistic(rng.multinomial(drawn, counts / rows, size=min(per_chunk, resamples - done)) @ values)
            for done in range(0, resamples, per_chunk)
        ]
    )
    value = float(statistic((counts @ values)[None, :])[0])
    tail = (1 - LEVEL) / 2
    defined = draws[np.isfinite(draws)]
    low, high = np.quantile(defined, [tail, 1 - tail]) if len(defined) else (value, value)
    return Estimate(value=value, low=float(low), high=float(high))


def distinct_rows(values: Shaped[np.ndarray, "n k"]) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
    """Return the distinct rows of a table of numbers, and how often each occurs."""
    patterns, counts = np.unique(values, axis=0, return_counts=True)
    return patterns, counts


def bootstrap_mean(values: Shaped[np.ndarray, " n"], **draws: Unpack[Draws]) -> Estimate:
    """Return the mean of one number per row, with its interval. For right answers, use `share_right`.

    If the numbers are `correct_a − correct_b` of two classifiers, this is the paired bootstrap of the difference in
    accuracy.
    """
    patterns, counts = distinct_rows(np.stack([values, np.ones(len(values))], axis=1))
    return bootstrap(patterns, counts, lambda drawn: drawn[:, 0] / drawn[:, 1], **draws)


def share_right(right: Bool[np.ndarray, " n"], **draws: Unpack[Draws]) -> Estimate:
    """Return the share of right answers, with Wilson's interval.

    If all rows are right or all are wrong, that of `bootstrap_mean` would have no width, as if no other row could be
    different.
    """
    return wilson(int(right.sum()), len(right), worth=draws.get("worth", 1.0))


def wilson(right: float, rows: float, *, worth: float = 1.0) -> Estimate:
    """Return a share with Wilson's interval (Wilson 1927), which needs no resampling and also holds for few rows.

    Args:
        worth: see `Draws`.
    """
    # SciPy's takes whole numbers alone, and rows of cross-validation count as a fraction of a row each.
    share, z = right / rows, _Z
    rows *= worth
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z * math.sqrt(share * (1 - share) / rows + (z / (2 * rows)) ** 2) / (1 + z**2 / rows)
    return Estimate(value=share, low=max(0.0, middle - half), high=min(1.0, middle + half))


def worth_of_folds(folds: int) -> float:
    """Return which share of the rows of cross-validation counts as independent.

    The models of the folds share rows, so what they get right is not independent. The variance of a mean is taken times
    1 + folds / (folds - 1) (Nadeau & Bengio 2003), as if there were fewer rows. If `folds` is 1, the rows were held out
    from one model, and all of them count.
    """
    return 1.0 if folds == 1 else 1 / (1 + folds / (folds - 1))


def worth_of_groups(values: Shaped[np.ndarray, " n"], groups: Shaped[np.ndarray, " n"] | None) -> float:
    """Return which share of the rows counts as independent if rows of a group are alike.

    It is 1 / design effect (Kish 1965, §5.4): the variance that the mean of the values has if whole groups are drawn,
    as against that of single rows. If the values are all the same, as many rows count as there are groups.
    Unlike whole groups that are drawn, it serves Wilson's interval, slices and paired tests too.

    Args:
        values: (n,) of each row, such as whether it is answered wrongly.
        groups: (n,) None: no rows are alike.
    """
    if groups is None:
        return 1.0
    _, of_row = np.unique(groups, return_inverse=True)
    several, away = int(of_row.max()) + 1, values - values.mean()
    of_rows, of_groups = float(away @ away), np.bincount(of_row, away)
    if several == len(values):
        return 1.0
    if several == 1 or not of_rows:
        return several / len(values)
    between = float(of_groups @ of_groups) * several / (several - 1)
    return 1.0 if between <= of_rows else of_rows / between


def normal(value: float, standard_error: float, *, lowest: float = -math.inf, highest: float = math.inf) -> Estimate:
    """Return an estimate that is about normally distributed, with its interval, cut off at the bounds of its values."""
    half = _Z * standard_error
    return Estimate(value=value, low=max(lowest, value - half), high=min(highest, value + half))


def mcnemar(
    correct_a: Bool[np.ndarray, " n"], correct_b: Bool[np.ndarray, " n"], *, worth: float = 1.0
) -> tuple[int, int, float]:
    """McNemar's exact test (McNemar 1947): is one of two classifiers right more often on the same rows?

    Returns the number of rows that only `a` got right, the number that only `b` got right, and the two-sided binomial p
    of this split under chance; with a `worth` (see `Draws`) it is that of fewer rows. p is 1.0 if both numbers are 0.
    """
    from scipy.stats import binomtest  # takes longer to import than the rest of this file

    only_a = int((correct_a & ~correct_b).sum())
    only_b = int((correct_b & ~correct_a).sum())
    counted = round(worth * only_a), round(worth * only_b)
    return only_a, only_b, float(binomtest(counted[0], sum(counted)).pvalue) if any(counted) else 1.0
