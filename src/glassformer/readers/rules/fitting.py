"""Find the weights of rules by rows that the other readers have not learned."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from glassformer.data.arrays import Array, BoolArray, FloatArray, IntArray
from glassformer.readers.joining import join, likelihood, open_rows
from glassformer.readers.reader import HEAVIEST, FittedReader, Fold, Rows
from glassformer.readers.rules.reader import RulesReader

_MEAN = _DEVIATION = 1.0  # of a weight before any row is seen: whoever wrote the rule knows something
_PARTS = 5


def fit_rules(
    reader: RulesReader, rows: Rows, folds: Sequence[Fold], others: Sequence[FloatArray]
) -> FittedReader[RulesReader]:
    """Find the weights that the file does not give.

    A weight is what the rule adds to what the other readers say already: with theirs, joined as `join` does, the
    weights minimise the negative log likelihood of the held-out rows. A Gaussian prior keeps the weight of a rule that
    matches few rows near 1, and none is below 0.

    Args:
        others: the scores of the other readers for the held-out rows.

    Returns:
        The reader, and scores for the held-out rows by weights that were found without the row.
    """
    began = time.perf_counter()
    held_out = rows.take(np.concatenate([fold.held_out for fold in folds]))
    scores = reader.scores(held_out.texts)
    found = reader
    if any(rule.weight is None and not rule.always for rule in reader.rules):
        is_open = open_rows(scores)
        weigh = np.where(is_open, held_out.weights, 0)
        said = np.zeros(scores.shape)
        if others:
            joined = join(others, held_out.truth, multilabel=held_out.truth.ndim == 2, row_weights=weigh)
            said = np.tensordot(joined.weights, np.stack(others).astype(np.float64), axes=1)
        problem = _Problem(reader, held_out, said, weigh)
        parts = np.random.default_rng(rows.seed).permutation(len(scores)) % _PARTS
        for part in range(_PARTS) if len(scores) > _PARTS else ():
            without = replace(reader, weights=problem.weights(parts != part))
            places = np.flatnonzero(parts == part).tolist()
            scores[places] = without.scores([held_out.texts[place] for place in places])
        found = replace(reader, weights=problem.weights(np.ones(len(scores), bool)))
    return FittedReader(reader=found, held_out=scores, seconds=time.perf_counter() - began)


class _Problem:
    """The weights that explain some rows best.

    Attributes:
        matches: (rows, rules) 1 where a rule without a given weight matches, −1 if it speaks against its label.
    """

    def __init__(self, reader: RulesReader, rows: Rows, said: Array, weigh: FloatArray) -> None:
        self.reader, self.weigh = reader, weigh
        self.free: IntArray = np.array(
            [number for number, rule in enumerate(reader.rules) if rule.weight is None and not rule.always]
        )
        signs = np.array([-1.0 if reader.rules[rule].negated else 1.0 for rule in self.free.tolist()])
        self.labels = np.array([reader.rules[rule].label for rule in self.free.tolist()])
        place = {int(rule): column for column, rule in enumerate(self.free)}
        cells = [
            (row, place[rule])
            for row, matched in enumerate(reader.matcher.matches(rows.texts))
            for rule in matched
            if rule in place
        ]
        at = np.array(cells, np.int64).reshape(-1, 2)
        shape = (len(rows.texts), len(self.free))
        self.matches = sparse.csr_matrix((signs[at[:, 1]], (at[:, 0], at[:, 1])), shape=shape)
        given = np.where(np.isin(np.arange(len(reader.rules)), self.free), 0, reader.weights).astype(np.float32)
        self.said = said + replace(reader, weights=given).scores(rows.texts)
        self.several = rows.truth.ndim == 2
        self.truth = (rows.truth > 0).astype(np.float64) if self.several else np.eye(said.shape[1])[rows.truth]
        self.to_label = sparse.csr_matrix(
            (np.ones(len(self.free)), (np.arange(len(self.free)), self.labels)), shape=(len(self.free), said.shape[1])
        )

    def weights(self, chosen: BoolArray) -> FloatArray:
        """Return the weight of each rule, by the chosen rows."""
        matches, said, truth, weigh = self.matches[chosen], self.said[chosen], self.truth[chosen], self.weigh[chosen]
        labels = self.truth.shape[1] if self.several else 1  # with several labels, the likelihood is their mean

        def penalised(weights: Array) -> tuple[float, Array]:
            total = said + (matches @ self.to_label.multiply(weights[:, None]).tocsr()).toarray()
            likely, gradient = likelihood(total, truth, multilabel=self.several)
            slopes = (matches.T @ (gradient * weigh[:, None]))[np.arange(len(weights)), self.labels]
            away = (weights - _MEAN) / _DEVIATION
            return -labels * float(likely @ weigh) + float(away @ away) / 2, labels * slopes + away / _DEVIATION

        start = np.full(len(self.free), _MEAN)
        bounds = [(0, HEAVIEST)] * len(self.free)
        found = minimize(penalised, start, jac=True, method="L-BFGS-B", bounds=bounds)
        weights = self.reader.weights.copy()
        weights[self.free] = found.x.round(4)  # the digits beyond differ between machines
        return weights
