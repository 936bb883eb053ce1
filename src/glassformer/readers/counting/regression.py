"""Logistic regression on sparse values, by scikit-learn or SciPy, with the cases that they leave open."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from glassformer.data.arrays import Array, FloatArray, parts_of
from glassformer.readers.counting.matrices import joined_rows, rows_of
from glassformer.readers.label_loss import label_loss, weighted_loss

_ITERATIONS = 200  # of a regression
_NEARLY_0 = 1e-9  # of the mean square of a text's values: added to each, so that texts may be the same
_SMALL = 2_000  # rows: of larger tables a smaller problem is not looked for
_LARGE = 200_000  # rows: of larger tables scikit-learn takes some 50 bytes a row
_MANY_ALONE = 0.5  # of the n-grams, from which on it is worth while to put those of one text together
_TOLERANCE = 3e-4  # of a regression: with 1e-3, fits to long texts stopped long before the best weights


def regression_per_output(
    values: sparse.csr_matrix,
    targets: Array,
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
        weigh = row_weights if positive == 1 else row_weights * np.where(target, positive, 1).astype(np.float32)
        if ratios is None:
            columns, intercepts = _fit(values, target, strength, weigh)
        else:
            scaled = (rows_of(values, part) @ sparse.diags_array(scale) for part in parts_of(len(target)))
            columns, intercepts = _fit(joined_rows(scaled), target, strength, weigh)
        weights[:, output], bias[output] = columns[0] * scale, float(intercepts[0])
    return weights, bias


def softmax_regression(
    values: sparse.csr_matrix, labels: Array, *, strength: float, row_weights: FloatArray, n_classes: int
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
    columns, intercepts = _fit(values, labels, strength, row_weights)
    if len(classes) == 2:  # of more classes: scikit-learn then gives their difference
        columns, intercepts = np.concatenate([-columns, columns]) / 2, np.concatenate([-intercepts, intercepts]) / 2
    weights[:, classes] = columns.T
    bias[:] = intercepts.min() - 1  # of classes that these rows lack
    bias[classes] = intercepts
    return weights, bias


def _fit(values: sparse.csr_matrix, target: Array, strength: float, weigh: FloatArray) -> tuple[Array, Array]:
    """Return the weights (classes, or 1 of two classes; columns) and the bias of each.

    N-grams of a single text have weights in proportion to their values, so one column for each text stands in for them.
    """
    values = sparse.csr_matrix(values)
    if len(target) > _LARGE:
        return _fitted_by_parts(values, target, strength, weigh)
    if len(target) > _SMALL:
        return _fitted(values, target, strength, weigh)
    alone = np.bincount(values.indices, minlength=values.shape[1]) == 1
    if alone.mean() < _MANY_ALONE:
        return _fitted(values, target, strength, weigh)
    mine, text = alone[values.indices], np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    lengths = np.sqrt(np.bincount(text[mine], np.square(values.data[mine]), len(target)))
    together = sparse.hstack([values[:, ~alone], sparse.diags_array(lengths.astype(values.dtype))], format="csr")
    found, bias = _fitted(together, target, strength, weigh)
    of_many, of_texts = np.split(found, [values.shape[1] - np.count_nonzero(alone)], axis=1)
    weights = np.zeros((len(found), values.shape[1]), found.dtype)
    weights[:, ~alone] = of_many
    shares = values.data[mine] / np.where(lengths, lengths, 1)[text[mine]]  # all values of a text may be 0
    weights[:, values.indices[mine]] = of_texts[:, text[mine]] * shares
    return weights, bias


def _fitted(values: sparse.csr_matrix, target: Array, strength: float, weigh: FloatArray) -> tuple[Array, Array]:
    """Return the weights (classes, or 1 of two classes; columns) and the bias of each.

    Of few texts with many n-grams, a square root L of X Xᵀ = L Lᵀ stands in for the values X: the best weights are sums
    of rows of X, so both have the same loss and penalty (Hastie & Tibshirani 2004, §2), and L is far smaller. The
    optimizer stops a little later, as a slope by texts is larger than by n-grams.
    """
    known = values
    if small := _fits_faster_by_texts(values, len(np.unique(target))):
        exact = values.astype(np.float64)
        products = (exact @ exact.T).toarray()
        apart = _NEARLY_0 * max(1.0, products.diagonal().mean())  # texts may be the same
        products[np.diag_indices_from(products)] += apart
        known = np.linalg.cholesky(products)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last digits do not change an answer
        warnings.simplefilter("ignore", UserWarning)  # there may be nearly as many classes as rows
        model = LogisticRegression(C=strength, tol=_TOLERANCE, max_iter=_ITERATIONS)
        model.fit(known, target, sample_weight=weigh)
    if not small:
        return model.coef_, model.intercept_
    return (values.T @ solve_triangular(known, model.coef_.T, trans="T", lower=True)).T, model.intercept_


def _fitted_by_parts(
    values: sparse.csr_matrix, target: Array, strength: float, weigh: FloatArray
) -> tuple[Array, Array]:
    """Return what `_fitted` does, by the same optimizer and loss. No array holds a number for each row."""
    classes = np.unique(target)
    outputs = 1 if len(classes) == 2 else len(classes)
    total = weigh.sum(dtype=np.float64)
    penalty, weigh = 1 / (strength * total), weigh.astype(values.dtype, copy=False)

    def penalised(flat: Array) -> tuple[float, Array]:
        weights, bias = np.split(flat.reshape(-1, outputs), [-1])
        loss, gradient = penalty * np.square(weights).sum() / 2, np.append(penalty * weights, 0 * bias, axis=0)
        known = weights.astype(values.dtype)
        for part in parts_of(len(target), _LARGE):
            rows = rows_of(values, part)
            truth = np.searchsorted(classes, target[part])
            truth, scores = truth[:, None] if outputs == 1 else truth, rows @ known + bias.astype(values.dtype)
            of_part, slopes = weighted_loss(label_loss, scores, truth, weigh[part] / values.dtype.type(total))
            loss += of_part
            gradient[:-1] += rows.T @ slopes
            gradient[-1] += slopes.sum(axis=0, dtype=np.float64)
        return loss, gradient.reshape(-1)

    options = {"maxiter": _ITERATIONS, "gtol": _TOLERANCE, "maxls": 50, "ftol": 64 * np.finfo(float).eps}  # as there
    start = np.zeros((values.shape[1] + 1) * outputs)
    found = minimize(penalised, start, jac=True, method="L-BFGS-B", options=options).x.reshape(-1, outputs)
    return found[:-1].T, found[-1]


def _fits_faster_by_texts(values: sparse.csr_matrix, n_classes: int) -> bool:
    """Whether products of texts are made, and regressed on, in less than half the time of a regression on n-grams.

    For two classes they are not: they need one output and few steps. For more, both sides count operations of about 4
    nanoseconds for a class, in 30 steps of the optimizer.
    """
    rows, columns = values.shape
    if n_classes == 2 or rows > _SMALL:
        return False
    texts = np.bincount(values.indices, minlength=columns).astype(np.float64)
    by_texts = rows**2 + (texts @ texts / 5 + rows**3 / 180) / n_classes
    return bool(by_texts < 50 * columns + 7 * values.nnz)


def _log_odds(target: Array) -> float:
    """Return the log odds of an output without regard to the values, with half a row added to both sides."""
    right = float(target.sum())
    return float(np.log((right + 0.5) / (len(target) - right + 0.5)))


def log_count_ratios(present: sparse.csr_matrix, targets: Array, row_weights: FloatArray) -> FloatArray:
    """Return r = ln((p / ‖p‖₁) / (q / ‖q‖₁)) of each n-gram for each output (Wang & Manning 2012, eq. 1).

    p adds 1 to the number of texts of the output's class that hold the n-gram, q to that of the other texts.
    """
    inside = outside = np.ones((present.shape[1], targets.shape[1]), np.float32)
    for part in parts_of(len(targets)):
        with_ngram, weigh = rows_of(present, part).T, row_weights[part, None]
        inside, outside = inside + with_ngram @ (targets[part] * weigh), outside + with_ngram @ (~targets[part] * weigh)
    return np.log((inside / inside.sum(axis=0)) / (outside / outside.sum(axis=0))).astype(np.float32)
