"""Compare two classifiers over several seeds: the difference in accuracy with its interval, and p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import binom

from glassformer.data.arrays import BoolArray, IntArray
from glassformer.evaluation.intervals import bootstrap, bootstrap_mean, distinct_rows
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.verdict import SIGNIFICANCE

Outcome = Literal["better", "worse", "no difference"]


@dataclass(frozen=True, kw_only=True)
class SeedAnswers:
    """Which rows two classifiers, a and b, answer rightly with a seed."""

    rows: Sequence[int]
    right_a: BoolArray
    right_b: BoolArray


@dataclass(frozen=True, kw_only=True)
class Paired:
    """The comparison of a with b. `difference` is a's accuracy − b's over all answers of all seeds."""

    difference: Estimate
    p: float

    @property
    def outcome(self) -> Outcome:
        """Return "better" or "worse" if the interval excludes 0 and p is below .05."""
        low, high = self.difference.low, self.difference.high
        if self.p >= SIGNIFICANCE or low <= 0 <= high:
            return "no difference"
        return "better" if low > 0 else "worse"


def over_rows(values: np.ndarray[Any, Any] | Sequence[np.ndarray[Any, Any]]) -> dict[str, float]:
    """Return the mean with its interval over rows. Of several seeds (seeds, rows), the means of the rows are taken."""
    return bootstrap_mean(np.atleast_2d(np.asarray(values)).mean(axis=0), seed=0).model_dump()


def ratio(sums: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]) -> Estimate:
    """Return the sum of sums / the sum of sizes, with its interval over rows, words or texts."""
    rows = np.stack([sums, sizes], axis=1)
    return bootstrap(rows, np.ones(len(rows), dtype=np.int64), lambda drawn: drawn[:, 0] / drawn[:, 1], seed=0)


def compare(seeds: Sequence[SeedAnswers]) -> Paired:
    """Compare two classifiers by the rows that they answered with each seed.

    A row that several seeds hold out is one observation, because its answers are not independent: all seeds may fail on
    the same hard text. For each row, d is the number of seeds with which only a is right, minus the number with which
    only b is right. The interval is a bootstrap over rows, and p is that of `sign_flips`. With a single seed, they are
    the paired bootstrap and McNemar's exact test. Both treat the seeds as given: they say how much other rows could
    change the difference of these models, not how much other seeds could.
    """
    rows, place = np.unique(np.concatenate([seed.rows for seed in seeds]), return_inverse=True)
    differences = np.concatenate([seed.right_a.astype(np.int64) - seed.right_b.astype(np.int64) for seed in seeds])
    sums, times = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    np.add.at(sums, place, differences)
    np.add.at(times, place, 1)
    patterns, counts = distinct_rows(np.stack([sums, times], axis=1))
    difference = bootstrap(patterns, counts, lambda drawn: drawn[:, 0] / drawn[:, 1], seed=0)
    return Paired(difference=difference, p=sign_flips(sums))


def sign_flips(values: IntArray) -> float:
    """Return the exact two-sided p of the sum of whole numbers, if the sign of each is as likely + as −.

    If all are 1 or −1, this is McNemar's exact test.
    """
    shares = np.ones(1)  # of the sums from −s to s, s the sum of the sizes so far
    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        of_size = np.zeros(2 * size * count + 1)
        of_size[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        shares = np.convolve(shares, of_size)
    sums = np.arange(len(shares)) - len(shares) // 2
    return min(1.0, float(shares[np.abs(sums) >= abs(int(values.sum()))].sum()))
