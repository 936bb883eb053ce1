"""Fit a counting reader to numbers: ridge regression on the TF-IDF of words and pieces of words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from glassformer.data.arrays import FloatArray, Numbers
from glassformer.readers.counting.corpus import Corpus, NgramCounts
from glassformer.readers.counting.fitting import count_families, idf_of, rounded
from glassformer.readers.counting.matrices import taken, texts_with, tfidf_matrix
from glassformer.readers.counting.reader import CountingReader, NgramWeights
from glassformer.readers.folds import Rows, folds_within
from glassformer.readers.reader import FittedReader, Fold

if TYPE_CHECKING:
    import polars as pl


STRENGTHS = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""The penalties that cross-validation tries, strongest first, until the squared error rises."""
_FEWEST_TEXTS = 2  # that an n-gram occurs in
_BYTES = 2_000_000  # of the n-grams and their weights in the file
_MOST_ROWS_TO_CHOOSE_BY = 50_000
_STRATA = 5
_PRECISION = 1e-4


def strata_of(targets: Numbers) -> Rows:
    """Cut numbers into five parts of equal size, so that folds can keep the proportion of low and high ones."""
    ranks = np.argsort(np.argsort(targets, kind="stable"), kind="stable")
    strata: Rows = ranks * _STRATA // max(1, len(targets))
    return strata


def fit_ridge(
    texts: Sequence[str] | pl.Series,
    targets: Numbers,
    *,
    folds: Sequence[Fold],
    groups: Rows | None = None,
    seed: int = 0,
) -> FittedReader[CountingReader]:
    """Fit a reader with a single output to all texts. Cross-validation chooses the penalty.

    Args:
        targets: (texts,) numbers with a mean near 0 and a deviation near 1.
        folds: rows whose numbers are wanted from a reader that has not seen them. Several of them choose the penalty
            too; a single one does so by folds within the rows that it learns from.
        groups: a number for each row that the first fold learns from. Cross-validation splits no group.
    """
    began = time.perf_counter()
    problem = _Problem(counts=count_families(Corpus.of(texts), _FEWEST_TEXTS, words_alone=False), targets=targets)
    trials = folds if len(folds) > 1 else folds_within(folds[0], strata_of(targets), seed, groups, None)
    thinned = [fold.thinned(_MOST_ROWS_TO_CHOOSE_BY, seed) for fold in trials]
    strength = problem.choose(thinned)
    held_out = np.concatenate([problem.fit(strength, fold.learned).answers(fold.held_out) for fold in folds])
    reader = problem.fit(strength, np.arange(len(targets))).reader({"ridge": {"alpha": strength}})
    return FittedReader(reader=reader, held_out=held_out[:, None], seconds=time.perf_counter() - began)


@dataclass(frozen=True, kw_only=True)
class _Problem:
    """All counts and targets. Every fit takes some of the rows."""

    counts: list[NgramCounts]
    targets: Numbers

    def choose(self, folds: Sequence[Fold]) -> float:
        """Return the penalty with the smallest squared error on the rows that the folds hold out."""
        best, least = STRENGTHS[0], np.inf
        for strength in STRENGTHS:
            error = 0.0
            for fold in folds:
                answers = self.fit(strength, fold.learned).answers(fold.held_out)
                error += float(np.square(answers - self.targets[fold.held_out]).sum())
            if error >= least:
                break
            best, least = strength, error
        return best

    def fit(self, strength: float, rows: Rows) -> _Model:
        """Fit to some rows. The n-grams and their idf are those of these rows alone."""
        texts = [texts_with(counts.matrix, rows) for counts in self.counts]
        kept = [np.flatnonzero(each >= _FEWEST_TEXTS) for each in texts]
        kept = self._with_room(kept, rows)
        idf = [idf_of(len(rows), each[columns]) for each, columns in zip(texts, kept, strict=True)]
        model = _Model(problem=self, kept=kept, idf=idf, weights=[], bias=float(self.targets[rows].mean()))
        values = sparse.hstack(model.values(rows), format="csr")
        if not values.shape[1]:  # no n-gram is in two texts
            return model.with_weights(np.zeros(0, np.float32), model.bias)
        fitted = Ridge(alpha=strength, solver="sparse_cg", tol=_PRECISION).fit(values, self.targets[rows])
        return model.with_weights(fitted.coef_.astype(np.float32), float(fitted.intercept_))

    def _with_room(self, kept: Sequence[Rows], rows: Rows) -> list[Rows]:
        """Return the n-grams that the file has room for: those whose presence goes along with the target most.

        The score is the z-value of the sum of the targets of the texts with the n-gram.
        """
        sizes, scores = [], []
        away = (self.targets[rows] - self.targets[rows].mean()).astype(np.float32)
        for counts, columns in zip(self.counts, kept, strict=True):
            sizes.append(np.array([len(ngram.encode()) + 7 for ngram in counts.ngrams[columns]], np.int64))
            present = taken(counts.matrix, rows, columns)
            present.data = np.ones_like(present.data)
            with_ngram = np.asarray(present.sum(axis=0)).ravel()
            scores.append(np.abs(present.T @ away) / np.sqrt(np.maximum(with_ngram, 1)))
        order = np.argsort(-np.concatenate(scores), kind="stable")
        fits = np.zeros(len(order), bool)
        fits[order] = np.cumsum(np.concatenate(sizes)[order]) <= _BYTES
        ends = np.cumsum([len(columns) for columns in kept])[:-1]
        return [columns[part] for columns, part in zip(kept, np.split(fits, ends), strict=True)]


@dataclass(frozen=True, kw_only=True)
class _Model:
    """A reader whose n-grams are columns of the counts of a problem, with the weights of each family."""

    problem: _Problem
    kept: list[Rows]
    idf: list[FloatArray]
    weights: list[FloatArray]
    bias: float

    def with_weights(self, weights: FloatArray, bias: float) -> _Model:
        parts = np.split(weights, np.cumsum([len(columns) for columns in self.kept])[:-1])
        return _Model(problem=self.problem, kept=self.kept, idf=self.idf, weights=parts, bias=bias)

    def values(self, rows: Rows) -> list[sparse.csr_matrix]:
        """Return the TF-IDF values of each family: (rows, n-grams)."""
        return [
            tfidf_matrix(taken(counts.matrix, rows, columns), idf)
            for counts, columns, idf in zip(self.problem.counts, self.kept, self.idf, strict=True)
        ]

    def answers(self, rows: Rows) -> FloatArray:
        total = np.full(len(rows), self.bias, np.float32)
        for values, weights in zip(self.values(rows), self.weights, strict=True):
            total += values @ weights
        return total

    def reader(self, settings: dict[str, Any]) -> CountingReader:
        """Return the same as a reader of texts. Its weights are rounded as the file will hold them."""
        families = tuple(
            NgramWeights(
                family=counts.family,
                ngrams=tuple(counts.ngrams[columns]),
                idf=rounded(idf),
                tfidf=rounded(weights[:, None]),
            )
            for counts, columns, idf, weights in zip(
                self.problem.counts, self.kept, self.idf, self.weights, strict=True
            )
        )
        bias = rounded(np.array([self.bias], np.float32))
        return CountingReader(families=families, bias=bias, n_classes=1, settings=settings)
