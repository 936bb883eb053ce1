"""Logistic regression on sparse values, by scikit-learn, with the cases that it leaves open."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from glassformer.data.arrays import Array, FloatArray

Labels = Array

_TOLERANCE, _ITERATIONS = 1e-3, 200


def regression_per_output(
    values: sparse.csr_matrix,
    targets: Labels,
    *,
    strength: float,
    row_weights: FloatArray,
    ratios: FloatArray | None = None,
    positive_weights: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Fit a regression of two classes for each output: weights (columns, outputs) and bias (outputs,).

    Args:
        targets: (rows, outputs) whether a row is of the output's class.
        strength: C of scikit-learn.
        ratios: (columns, outputs) factors of the values. The weights are for values without them.
        positive_weights: (outputs,) factors of the weights of the rows of the output's class.
    """
    outputs = targets.shape[1]
    weights, bias = np.zeros((values.shape[1], outputs), np.float32), np.zeros(outputs, np.float32)
    for output, target in enumerate(targets.T):
        if target.all() or not target.any() or not values.shape[1]:
            bias[output] = _log_odds(target)
            continue
        scale = np.ones(values.shape[1], np.float32) if ratios is None else ratios[:, output]
        positive = 1.0 if positive_weights is None else positive_weights[output]
        weigh = row_weights * np.where(target, positive, 1.0)
        fitted = _fit(values @ sparse.diags_array(scale), target, strength, weigh)
        weights[:, output], bias[output] = fitted.coef_[0] * scale, fitted.intercept_[0]
    return weights, bias


def softmax_regression(
    values: sparse.csr_matrix, labels: Labels, *, strength: float, row_weights: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Fit one regression of all classes: weights (columns, n_classes) and bias (n_classes,).

    Args:
        labels: class numbers (rows,). Classes may be missing.
        strength: C of scikit-learn.
    """
    classes = np.unique(labels)
    weights = np.zeros((values.shape[1], n_classes), np.float32)
    bias = np.zeros(n_classes, np.float32)
    if len(classes) == 1 or not values.shape[1]:
        bias[:] = [_log_odds(labels == number) for number in range(n_classes)]
        return weights, bias
    fitted = _fit(values, labels, strength, row_weights)
    columns, intercepts = fitted.coef_, fitted.intercept_
    if len(classes) == 2:  # of more classes: scikit-learn then gives their difference
        columns, intercepts = np.concatenate([-columns, columns]) / 2, np.concatenate([-intercepts, intercepts]) / 2
    weights[:, classes] = columns.T
    bias[:] = intercepts.min() - 1  # of classes that these rows lack
    bias[classes] = intercepts
    return weights, bias


def _fit(values: sparse.csr_matrix, target: Labels, strength: float, weigh: FloatArray) -> LogisticRegression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last digits do not change an answer
        warnings.simplefilter("ignore", UserWarning)  # there may be nearly as many classes as rows
        model = LogisticRegression(C=strength, tol=_TOLERANCE, max_iter=_ITERATIONS)
        return model.fit(sparse.csr_matrix(values), target, sample_weight=weigh)


def _log_odds(target: Labels) -> float:
    """Return the log odds of an output without regard to the values, with half a row added to both sides."""
    right = float(target.sum())
    return float(np.log((right + 0.5) / (len(target) - right + 0.5)))


def log_count_ratios(present: sparse.csr_matrix, targets: Labels, row_weights: FloatArray) -> FloatArray:
    """Return r = ln((p / ‖p‖₁) / (q / ‖q‖₁)) of each n-gram for each output (Wang & Manning 2012, eq. 1).

    p adds 1 to the number of texts of the output's class that hold the n-gram, q to that of the other texts.
    """
    inside = np.asarray(present.T @ (targets * row_weights[:, None])) + 1
    outside = np.asarray(present.T @ (~targets * row_weights[:, None])) + 1
    ratios: FloatArray = np.log((inside / inside.sum(axis=0)) / (outside / outside.sum(axis=0))).astype(np.float32)
    return ratios
