"""Join readers: one weight for each reader's logits, so that the weighted sum explains held-out labels best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax

from glassformer.data.arrays import Array, BoolArray
from glassformer.readers.reader import DECIDING, HEAVIEST

READ, KNOWING, STRANGE = 10_000.0, 4.0, 0.02
"""The odds that a reader that leads knows something of the rows: word vectors that know most of their words, an
encoder, and an encoder that does not know their words."""
_DEVIATION = 0.25  # of the weights of several readers
_LEADING, _LED = 1.0, 0.12  # the means of the weights of a reader that leads, and of the others, given no rows
_CAUGHT_UP = 100  # held-out rows, by which the means are half way from these to 1 / √readers
_UNTOLD = 16  # rows. As many say about half of how frequent labels are
_STEP = 1e-4  # in weights, to measure how fast the slope of the loss changes


@dataclass(frozen=True, kw_only=True)
class Joined:
    """The result of `join`: the weight of each reader and of the prior, and the summed loss of the answers in nats."""

    weights: tuple[float, ...]
    loss: float
    prior: float = 0.0


def join(
    logits: Sequence[Array],
    labels: Array,
    *,
    multilabel: bool,
    row_weights: Array | None = None,
    fixed: Array | None = None,
    leading: int | None = None,
    odds: float = KNOWING,
    prior: Array | None = None,
) -> Joined:
    """Find the weights w_r ≥ 0 that minimise the negative log likelihood of Σ_r w_r · logits_r.

    This is stacking (Wolpert 1992) with one weight per reader. With a single reader it is temperature scaling with
    T = 1 / w. The loss is convex in the weights. A Gaussian prior keeps them finite if every answer is right. Of
    several readers its deviation is small, because few rows say little about weights, and its mean 1 / √readers: they
    neither say the same, as 1 / readers would have it, nor know of different things, as 1 would.

    Args:
        logits: (rows, n_classes) of each reader, for rows that it has not learned from.
        labels: class numbers (rows,), or ones and zeros (rows, n_classes) with `multilabel`.
        row_weights: (rows,)
        fixed: (rows, n_classes) what is added to the sum as it is. The rows that it decides do not count.
        leading: the number of a reader that has read far more than these rows, or that few rows mislead less. With few
            of them the mean of its weight is far above those of the others, which know only what the rows told them.
            The more rows, the nearer both are to 1 / √readers. The weights are means over two models, one of
            which leaves this reader out. Each counts by how likely it is (Laplace's approximation, MacKay 1992, §2.3).
        odds: that the leading reader knows something of these rows, before they are seen. Infinite: it surely does.
        prior: (n_classes,) the log odds of the labels before a text is read. The logits of each reader hold them, so a
            sum of several would hold them too often. They get one more weight. Its mean is such that the sum holds the
            share of them that grows with the rows to one: few rows are a poor estimate of how frequent labels are. With
            `multilabel` it holds all of them, as a log odds of 0 would be far from that of most labels.
    """
    first = logits[0] if fixed is None else fixed
    beside = np.zeros(first.shape) if fixed is None else fixed.astype(np.float64)
    readers, weighed = len(logits), [*logits]
    if prior is not None and readers:
        weighed.append(np.broadcast_to(prior, first.shape))
    once = len(weighed) > readers
    together = np.stack([each.astype(np.float64) for each in weighed]) if readers else np.zeros((0, *first.shape))
    weigh = np.ones(len(first)) if row_weights is None else row_weights.astype(np.float64)
    if fixed is not None:
        weigh = np.where(open_rows(fixed), weigh, 0)
    counted = np.count_nonzero(weigh)
    held = 1.0 if multilabel else counted / (counted + _UNTOLD)
    truth = (labels > 0).astype(np.float64) if multilabel else np.eye(together.shape[2])[labels]

    def loss(weights: Array) -> tuple[float, Array]:
        total = np.tensordot(weights, together, axes=1) + beside
        likely, gradient = likelihood(total, truth, multilabel=multilabel)
        slopes = together.reshape(len(together), first.size) @ (gradient * weigh[:, None]).reshape(-1)
        return -float(likely @ weigh), slopes

    def fit(means: Array, deviation: float = _DEVIATION) -> tuple[Array, float]:
        """Fit the weights of the readers whose mean is not 0, and that of the prior."""
        bounds = [(0.0, HEAVIEST if mean else 0.0) for mean in means] + [(-HEAVIEST, HEAVIEST)] * once
        deviations = np.append(np.full(readers, deviation), [_DEVIATION] * once)
        return _fit(loss, np.append(means, [held - means.sum()] * once), bounds, deviations)

    if not readers:
        return Joined(weights=(), loss=round(loss(np.zeros(0))[0], 6))
    if leading is None or readers == 1:
        weights, _ = fit(np.full(readers, readers**-0.5), 1.0 if readers == 1 else _DEVIATION)
    else:
        weights = _led(fit, np.arange(readers) == leading, _CAUGHT_UP / (counted + _CAUGHT_UP), odds)
    weights = weights.round(6)  # the digits beyond differ between machines
    found = tuple(map(float, weights))
    return Joined(weights=found[:readers], loss=round(loss(weights)[0], 6), prior=found[-1] if once else 0.0)


def _led(fit: Callable[[Array], tuple[Array, float]], leads: BoolArray, few: float, odds: float) -> Array:
    """Return the mean of the weights with a reader that leads and without it, each by how likely it is.

    Args:
        few: between 1, if no rows are held out, and 0, if very many are.
    """
    equal = len(leads) ** -0.5
    means = equal + few * (np.where(leads, _LEADING, _LED) - equal)
    weights, likely = fit(means)
    others, without = fit(np.where(leads, 0, means))
    return others + expit(np.log(odds) + likely - without) * (weights - others)


def log_odds(truth: Array, rows: Array, n_classes: int) -> Array:
    """Return the log odds (n_classes,) of labels, half a row added to each.

    Args:
        truth: class numbers (rows,), or ones and zeros (rows, n_classes).
        rows: (rows,) how much each counts.
    """
    if truth.ndim == 2:
        with_it = rows @ (truth > 0)
        return np.asarray(np.log(with_it + 0.5) - np.log(rows.sum() - with_it + 0.5))
    odds = np.log(np.bincount(truth, rows, n_classes) + 0.5)
    return np.asarray(odds - odds.mean())


def _fit(
    loss: Callable[[Array], tuple[float, Array]],
    means: Array,
    bounds: Sequence[tuple[float, float]],
    deviations: Array,
) -> tuple[Array, float]:
    """Return the weights, and the log of how likely the labels are, whatever the weights."""

    def penalised(weights: Array) -> tuple[float, Array]:
        value, slopes = loss(weights)
        away = (weights - means) / deviations
        return value + float(away @ away) / 2, slopes + away / deviations

    precise = {"ftol": 1e-14, "gtol": 1e-8}
    found = minimize(penalised, means, jac=True, method="L-BFGS-B", bounds=bounds, options=precise)
    free = np.flatnonzero([high for _, high in bounds])
    steps, scales = _STEP * np.eye(len(means))[free], deviations[free]
    bend = [(penalised(found.x + step)[1] - penalised(found.x - step)[1])[free] / (2 * _STEP) for step in steps]
    return found.x, -found.fun - np.linalg.slogdet(np.outer(scales, scales) * np.array(bend))[1] / 2


def likelihood(total: Array, truth: Array, *, multilabel: bool) -> tuple[Array, Array]:
    """Return the log likelihood of each row, and the gradient of its negative with respect to the logits.

    With several labels per text it is the mean over the labels, as in the loss of training.
    """
    if multilabel:
        by_label = np.where(truth > 0, log_expit(total), log_expit(-total))
        return by_label.mean(axis=1), (expit(total) - truth) / truth.shape[1]
    return (log_softmax(total, axis=1) * truth).sum(axis=1), softmax(total, axis=1) - truth


def open_rows(scores: Array) -> BoolArray:
    """Return the rows (rows,) about which a reader with these scores (rows, n_classes) does not decide."""
    return np.abs(scores).max(axis=1, initial=0) < DECIDING
