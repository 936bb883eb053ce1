"""Metrics of answers with a number, with bootstrap intervals: R², absolute and squared error, rank correlation."""

from typing import Any, Unpack

import numpy as np
from scipy.stats import rankdata

from glassformer.data.arrays import Numbers
from glassformer.evaluation.intervals import Draws, bootstrap
from glassformer.evaluation.ranks import correlation, moments
from glassformer.evaluation.record import Estimate
from glassformer.targets.number.evaluation_result import NumberMetrics

FEWEST = 6
"""So many rows speak for the same of two answers by chance in 1 of 32 cases, and 5 rows in 1 of 16 (sign test)."""


def measure_numbers(
    answers: Numbers, truth: Numbers, *, ranked: Numbers | None = None, **draws: Unpack[Draws]
) -> NumberMetrics:
    """Return all metrics of answers (rows,) to rows with the numbers `truth` (rows,).

    The interval of Spearman's correlation is that of fixed ranks.

    Args:
        ranked: (rows,) the answers of Spearman's correlation, if they are others.
    """
    ranked = answers if ranked is None else ranked
    rows, off = len(truth), answers - truth
    once = np.ones(rows, np.int64)

    def estimate(patterns: Numbers, statistic: Any) -> Estimate:
        return bootstrap(patterns, once, statistic, **draws)

    def with_rows(values: Numbers) -> Numbers:
        return np.stack([values, once], axis=1)

    by_rank = moments(rankdata(truth), rankdata(ranked))
    varies = len(np.unique(truth)) > 1 and len(np.unique(ranked)) > 1
    return NumberMetrics(
        rows=rows,
        r2=r2_of(off**2, truth, **draws),
        mae=estimate(with_rows(np.abs(off)), lambda sums: sums[:, 0] / sums[:, 1]),
        rmse=estimate(with_rows(off**2), lambda sums: np.sqrt(sums[:, 0] / sums[:, 1])),
        spearman=estimate(by_rank, correlation) if varies else None,
    )


def r2_of(squares: Numbers, truth: Numbers, **drawn: Any) -> Estimate:
    """Return R² of answers.

    Args:
        squares: (rows,) the squared errors.
        drawn: see `difference_in_r2`.
    """
    return _of_squares(squares, truth, _r2, **drawn)


def difference_in_r2(squares: Numbers, others: Numbers, truth: Numbers, **drawn: Any) -> Estimate:
    """Return R² of some answers − R² of others on the same rows, by the paired bootstrap.

    An interval from fewer than `FEWEST` rows holds 0, as chance alone may make each of them speak for the same answers.

    Args:
        squares, others: (rows,) the squared errors of both.
        drawn: those of `bootstrap_mean`.
    """
    found = _of_squares(squares - others, truth, lambda sums: _r2(sums) - 1, **drawn)
    if len(truth) * drawn.get("worth", 1.0) >= FEWEST:
        return found
    return Estimate(value=found.value, low=min(found.low, 0.0), high=max(found.high, 0.0))


def _of_squares(squares: Numbers, truth: Numbers, statistic: Any, **draws: Unpack[Draws]) -> Estimate:
    """Return a statistic of the sums of squares, y, y² and 1 with its interval."""
    centred = truth - truth.mean()
    patterns = np.stack([squares, centred, centred**2, np.ones(len(truth))], axis=1)
    return bootstrap(patterns, np.ones(len(patterns), np.int64), statistic, **draws)


def _r2(sums: Numbers) -> Numbers:
    """Return 1 − error / spread from the sums of the squared error, y, y² and 1; NaN if y does not vary."""
    error, y, squares, n = sums.T
    spread = squares - y**2 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Numbers = np.where(spread > 0, 1 - error / spread, np.nan)
    return found
