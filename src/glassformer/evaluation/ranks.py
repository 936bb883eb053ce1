"""Measures of ordered classes: an answer that is one class off is better than one that is three classes off."""

from collections.abc import Mapping
from typing import Unpack

import numpy as np
from jaxtyping import Float, Int, Shaped
from numpy.typing import NDArray

from glassformer.evaluation.intervals import Draws, bootstrap
from glassformer.evaluation.metrics import confusion_counts
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import RankMeasures
from glassformer.targets.costs import Costs


def ranks_of(
    answers: Mapping[str, Float[np.ndarray, "n n_classes"]],
    labels: Int[np.ndarray, " n"],
    *,
    costs: Costs | None = None,
    **draws: Unpack[Draws],
) -> tuple[RankMeasures, ...]:
    """Measure the answer to each row, for several contestants by name.

    Args:
        labels: class numbers, lowest class first.
    """
    counts = {name: confusion_counts(probs, labels, costs) for name, probs in answers.items()}
    return tuple(_measure(name, confusion, draws) for name, confusion in counts.items())


def _measure(name: str, confusion: Int[np.ndarray, "c c"], draws: Draws) -> RankMeasures:
    truth, answer = np.nonzero(confusion)
    counts = confusion[truth, answer]
    off = np.abs(truth - answer)
    by_rank = moments(truth, answer)
    by_place = moments(_mid_ranks(confusion.sum(axis=1))[truth], _mid_ranks(confusion.sum(axis=0))[answer])
    spread = len(set(truth.tolist())) > 1 and len(set(answer.tolist())) > 1

    def estimate(patterns: Shaped[np.ndarray, "m k"], statistic: object) -> Estimate:
        return bootstrap(patterns, counts, statistic, **draws)  # type: ignore[arg-type]

    return RankMeasures(
        name=name,
        mae=estimate(np.stack([off, np.ones_like(off)], axis=1), lambda sums: sums[:, 0] / sums[:, 1]),
        spearman=estimate(by_place, correlation) if spread else None,
        kappa=estimate(by_rank, _kappa) if len(set(truth.tolist()) | set(answer.tolist())) > 1 else None,
        off_by=tuple(np.bincount(off, weights=counts).astype(int).tolist()),
    )


def moments(x: Shaped[np.ndarray, " m"], y: Shaped[np.ndarray, " m"]) -> NDArray[np.float64]:
    """Return 1, x, y, x², y² and xy of each row: correlation and kappa are functions of their sums."""
    return np.stack([np.ones(len(x)), x, y, x**2, y**2, x * y], axis=1).astype(np.float64)


def correlation(sums: Float[np.ndarray, "resamples 6"]) -> Float[np.ndarray, " resamples"]:
    """Return Pearson's correlation from the sums of `moments`, NaN where x or y does not vary."""
    n, x, y, xx, yy, xy = sums.T
    spread = (n * xx - x**2) * (n * yy - y**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.where(spread > 0, (n * xy - x * y) / np.sqrt(spread), np.nan)
    return found


def _kappa(sums: Float[np.ndarray, "resamples 6"]) -> Float[np.ndarray, " resamples"]:
    """Return 1 − mean (x − y)² / the same by chance (Cohen 1968), NaN where chance cannot be wrong."""
    n, x, y, xx, yy, xy = sums.T
    observed, chance = xx + yy - 2 * xy, xx + yy - 2 * x * y / n
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.where(chance > 0, 1 - observed / chance, np.nan)
    return found


def _mid_ranks(rows: Int[np.ndarray, " c"]) -> NDArray[np.float64]:
    """Return the mean rank of the rows of each class if all rows are sorted by class, as Spearman's ties need it."""
    return np.cumsum(rows) - (rows - 1) / 2
