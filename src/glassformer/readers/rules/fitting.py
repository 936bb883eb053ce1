"""Find the weights of the rules whose file gives none."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from glassformer.data.arrays import Array, BoolArray, FloatArray, IntArray
from glassformer.readers.joining import join, likelihood, open_rows
from glassformer.readers.reader import HEAVIEST, FittedReader, Fold, Rows
from glassformer.readers.rules.reader import RulesReader

_MEAN = _DEVIATION = 1.0  # of a weight before any row is seen: whoever wrote the rule knows something


def fit_rules(
    reader: RulesReader, rows: Rows, folds: Sequence[Fold], others: Sequence[FloatArray]
) -> FittedReader[RulesReader]:
    """Find the weights that the file does not give.

    They are those of a logistic regression on which rules match, times the weight that held-out rows give to these
    scores beside those of the other readers (see `join`). A Gaussian prior keeps a rule that matches few rows near 1
    before that. One that matches no row gets 1. No weight is below 0.

    Args:
        others: the scores of the other readers for the held-out rows.

    Returns:
        The reader, and scores for the held-out rows by weights that were found without them.
    """
    began, place = time.perf_counter(), np.concatenate([fold.held_out for fold in folds])
    matches = reader.matcher.matches(rows.texts)
    if not reader.saying.finds or all(rule.weight is not None or rule.always for rule in reader.rules):
        held_out = reader.scores_of([matches[row] for row in place.tolist()])
        return FittedReader(reader=reader, held_out=held_out, seconds=time.perf_counter() - began)
    problem = _Problem(reader, rows, matches)

    def scores(weights: FloatArray, rows: IntArray) -> FloatArray:
        return replace(reader, weights=weights).scores_of([matches[row] for row in rows.tolist()])

    given = scores(problem.given, place)
    found = np.concatenate([scores(problem.weights(fold.learned), fold.held_out) for fold in folds]) - given
    how = {"row_weights": rows.weights[place], "fixed": given}
    joined = join([found, *others], rows.truth[place], multilabel=problem.several, **how)
    scale = np.float32(joined.weights[0])
    weights = problem.weights(np.arange(len(matches)))
    weights[problem.is_free & problem.is_met] *= scale
    return FittedReader(
        reader=replace(reader, weights=weights.round(4)),  # the digits beyond differ between machines
        held_out=given + scale * found,
        seconds=time.perf_counter() - began,
    )


class _Problem:
    """The weights that explain some rows best, by rules alone.

    Attributes:
        is_free: (rules,) which weights are to be found.
        given: (rules,) the others, and 0.
        is_met: (rules,) which rules match some row.
        matches: (rows, rules) 1 where such a rule matches, −1 if it speaks against its label.
    """

    def __init__(self, reader: RulesReader, rows: Rows, matches: Sequence[Sequence[int]]) -> None:
        self.is_free: BoolArray = np.array([rule.weight is None and not rule.always for rule in reader.rules])
        self.given: FloatArray = np.where(self.is_free, 0, reader.weights).astype(np.float32)
        self.several = rows.truth.ndim == 2
        width = len(reader.saying.outputs)
        self.truth = (rows.truth > 0).astype(np.float64) if self.several else np.eye(width)[rows.truth]
        scores = replace(reader, weights=self.given).scores_of(matches)
        self.said = scores + _usual(self.truth, several=self.several)
        self.weigh = np.where(open_rows(scores), rows.weights, 0).astype(np.float64)
        signs = np.array([-1.0 if rule.negated else 1.0 for rule in reader.rules]) * self.is_free
        rule = np.fromiter(chain.from_iterable(matches), np.int64)
        row = np.repeat(np.arange(len(matches)), [len(matched) for matched in matches])
        self.matches = sparse.csr_matrix((signs[rule], (row, rule)), shape=(len(matches), len(signs)))
        self.is_met: BoolArray = np.bincount(rule, minlength=len(signs)) > 0
        self.labels = np.array([rule.label for rule in reader.rules])
        every = np.arange(len(reader.rules))
        self.to_label = sparse.csr_matrix((np.ones(len(every)), (every, self.labels)), shape=(len(every), width))

    def weights(self, chosen: IntArray) -> FloatArray:
        """Return the weight of each rule, by the chosen rows."""
        matches, said, truth, weigh = self.matches[chosen], self.said[chosen], self.truth[chosen], self.weigh[chosen]
        labels = self.truth.shape[1] if self.several else 1  # with several labels, the likelihood is their mean

        def penalised(weights: Array) -> tuple[float, Array]:
            total = said + (matches @ self.to_label.multiply(weights[:, None]).tocsr()).toarray()
            likely, gradient = likelihood(total, truth, multilabel=self.several)
            slopes = (matches.T @ (gradient * weigh[:, None]))[np.arange(len(weights)), self.labels]
            away = (weights - _MEAN) / _DEVIATION
            return -labels * float(likely @ weigh) + float(away @ away) / 2, labels * slopes + away / _DEVIATION

        start = np.full(len(self.labels), _MEAN)
        bounds = [(0, HEAVIEST)] * len(start)
        found = minimize(penalised, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return np.where(self.is_free, found.x, self.given).astype(np.float32)


def _usual(truth: Array, *, several: bool) -> Array:
    """Return the scores that a text without a match has: how frequent each label is."""
    share = (truth.sum(axis=0) + 1) / (len(truth) + 2)
    return np.log(share / (1 - share)) if several else np.log(share)
