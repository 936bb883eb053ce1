"""A linear head on vectors of texts, its penalty chosen by held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from scipy.optimize import minimize

from glassformer.data.arrays import Array, FloatArray, IntArray, blocks, gathered, numbers_from, parts_of, some_of
from glassformer.readers.label_loss import weighted_loss
from glassformer.readers.reader import Fold, Rows

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The values of C (as scikit-learn has it) that are tried, strongest penalty first, until the held-out loss rises."""
_LIKELY, _DEVIATION = 0.03, 1.3  # of C, and of its logarithm, before any row is seen
_MANY_OUTPUTS = 20  # beyond, the first fold alone chooses
_SCALES = np.geomspace(0.25, 16, 13)  # of scores: whoever joins readers scales them too
_LEAST_SCALE = 0.005  # of texts whose words are hardly known: their means differ by noise. Of others it is .01 to .05
_MOST_ROWS = 500_000  # that a head learns from: it has some hundred weights for an output
_ROWS_AT_ONCE = 200_000  # of which there are scores at once
_STEPS, _TOLERANCE = 100, 1e-5  # of the optimizer


@dataclass(frozen=True, kw_only=True)
class Head:
    """Scores = vectors · `weights` + `bias`."""

    weights: FloatArray
    bias: FloatArray

    def scores(self, vectors: FloatArray) -> FloatArray:
        return vectors @ self.weights + self.bias


def fit_head(
    vectors: FloatArray,
    rows: Rows,
    folds: Sequence[Fold],
    of_folds: Sequence[FloatArray] | None = None,
) -> tuple[Head, FloatArray]:
    """Fit a head without the rows of each fold, and then to all rows; of very many rows, to some of them.

    Args:
        vectors: (rows, dims) of the texts.
        of_folds: the same for each fold, if labels have changed how texts become vectors.

    Returns:
        The head of all rows, and the scores of the held-out rows, in the order of the folds.
    """

    rows = replace(rows, texts=())  # which a head does not read

    @cache
    def answers(number: int, strength: float) -> FloatArray:
        fold, known = folds[number], vectors if of_folds is None else of_folds[number]
        head = _fitted(known, fold.learned, rows, strength)
        return np.concatenate([head.scores(known[block]) for block in blocks(fold.held_out)])

    trials = range(1 if rows.width > _MANY_OUTPUTS else len(folds))
    held_out = rows.take(np.concatenate([folds[number].held_out for number in trials]))
    strength = _chosen(held_out, lambda strength: np.concatenate([answers(number, strength) for number in trials]))
    scores = np.concatenate([answers(number, strength) for number in range(len(folds))])
    return _fitted(vectors, numbers_from(0, len(vectors)), rows, strength), scores


def losses_at_best(held_out: Rows, scores: FloatArray) -> FloatArray:
    """Return the losses (rows,) of scores (rows, width) for held-out rows, at the scale where their sum is smallest."""
    found, truth = torch.from_numpy(scores), torch.from_numpy(held_out.truth)
    return min((held_out.weights * held_out.loss(found * scale, truth).numpy() for scale in _SCALES), key=np.sum)


def _chosen(held_out: Rows, answers: Callable[[float], FloatArray]) -> float:
    """Return the likeliest strength, given its scores for held-out rows.

    The prior of its logarithm is Gaussian. A few rows say little, and it outweighs them.
    """
    best, least = STRENGTHS[0], np.inf
    for strength in STRENGTHS:
        loss = losses_at_best(held_out, answers(strength)).sum() + (np.log(strength / _LIKELY) / _DEVIATION) ** 2 / 2
        if loss >= least:
            break
        best, least = strength, loss
    return best


def _fitted(vectors: FloatArray, chosen: IntArray, rows: Rows, strength: float) -> Head:
    """Minimise Σ weight · loss + ‖W‖² / (2 · strength) of the chosen rows, or of many of them, by L-BFGS.

    Their vectors are centred, and scaled as a whole. SciPy's optimizer, as the first one of PyTorch that a process
    makes imports its compiler, which takes seconds.
    """
    chosen = chosen[some_of(len(chosen), _MOST_ROWS, rows.seed)]
    parts, size = blocks(chosen), max(1, len(chosen))
    centre = (sum(vectors[block].sum(axis=0, dtype=np.float64) for block in parts) / size).astype(np.float32)
    squares = sum(float(np.square(vectors[block] - centre).sum(dtype=np.float64)) for block in parts)
    scale = np.float32(max((squares / (size * vectors.shape[1])) ** 0.5, _LEAST_SCALE))
    known = gathered((vectors[block] - centre) / scale for block in parts)
    truth, weigh = (gathered(of_rows[block] for block in parts) for of_rows in (rows.truth, rows.weights))
    shape = (known.shape[1] + 1, rows.width)  # the bias comes last

    def penalised(flat: Array) -> tuple[float, Array]:
        weights, bias = np.split(flat.reshape(shape).astype(np.float32), [-1])
        total, slope, slope_of_bias = 0.0, np.zeros_like(weights), np.zeros_like(bias)
        for part in parts_of(len(truth), _ROWS_AT_ONCE):
            loss, slopes = weighted_loss(rows.loss, known[part] @ weights + bias, truth[part], weigh[part])
            total += loss
            slope, slope_of_bias = slope + known[part].T @ slopes, slope_of_bias + slopes.sum(axis=0, keepdims=True)
        total += float(np.square(weights).sum()) / (2 * strength)
        gradient = np.concatenate([slope + weights / np.float32(strength), slope_of_bias])
        return total / len(truth), gradient.astype(np.float64).reshape(-1) / len(truth)

    options = {"maxiter": _STEPS, "gtol": _TOLERANCE}
    found = minimize(penalised, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options=options)
    weights, bias = found.x[: -rows.width].reshape(-1, rows.width), found.x[-rows.width :]
    unscaled = (weights / scale).astype(np.float32)
    return Head(weights=unscaled, bias=bias.astype(np.float32) - centre @ unscaled)
