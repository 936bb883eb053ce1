"""Fit a counting reader to numbers: ridge regression on the TF-IDF of words and pieces of words."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import Ridge

from glassformer.data.arrays import Array, FloatArray, Numbers
from glassformer.readers.counting.corpus import Corpus, NgramCounts
from glassformer.readers.counting.problem import (
    FEWEST_TEXTS,
    MOST_ROWS_TO_CHOOSE_BY,
    Model,
    Problem,
    count_families,
)
from glassformer.readers.counting.reader import CountingReader
from glassformer.readers.folds import Rows, folds_within
from glassformer.readers.reader import FittedReader, Fold

if TYPE_CHECKING:
    import polars as pl


STRENGTHS = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""The penalties that cross-validation tries, strongest first, until the squared error rises."""
_STRATA = 5
_ROWS_TO_CHOOSE_BY = 1_000
"""Held-out rows that choose a penalty where a rough one will do. By 100 rows of SICK, it was up to ten times off."""
_PRECISION = 1e-4


def strata_of(targets: Numbers) -> Rows:
    """Cut numbers into five parts of equal size, so that folds can keep the proportion of low and high ones."""
    ranks = np.argsort(np.argsort(targets, kind="stable"), kind="stable")
    return ranks * _STRATA // max(1, len(targets))


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
    problem = _Problem(counts=count_families(Corpus.of(texts), FEWEST_TEXTS), targets=targets)
    trials = folds if len(folds) > 1 else folds_within(folds[0], strata_of(targets), seed, groups, None)
    thinned = [fold.thinned(MOST_ROWS_TO_CHOOSE_BY, seed) for fold in trials]
    strength = problem.choose(thinned)
    held_out = np.concatenate([problem.fit(strength, fold.learned).logits(fold.held_out) for fold in folds])
    reader = problem.fit(strength, np.arange(len(targets))).reader({"ridge": {"alpha": strength}})
    return FittedReader(reader=reader, held_out=held_out, seconds=time.perf_counter() - began)


def fold_readers(
    texts: Sequence[str], targets: Numbers, *, folds: Sequence[Fold], on_progress: Callable[[float], None]
) -> tuple[FloatArray, list[CountingReader]]:
    """Return the answers to the rows that the folds hold out, in the order of the folds, and the reader of each fold.

    This is the quick way to look at every row of a table once: the first folds choose the penalty for all of them.
    """
    problem = _Problem(counts=count_families(Corpus.of(texts), FEWEST_TEXTS), targets=targets)
    held_out = np.cumsum([len(fold.held_out) for fold in folds])
    choosing = folds[: 1 + int((held_out < _ROWS_TO_CHOOSE_BY).sum())]
    strength = problem.choose([fold.thinned(MOST_ROWS_TO_CHOOSE_BY, 0) for fold in choosing])
    answers, readers = [], []
    for number, fold in enumerate(folds, 1):
        on_progress(number / (len(folds) + 1))
        model = problem.fit(strength, fold.learned)
        answers.append(model.logits(fold.held_out)[:, 0])
        readers.append(model.reader({"ridge": {"alpha": strength}}))
    return np.concatenate(answers), readers


@dataclass(frozen=True, kw_only=True)
class _Problem(Problem):
    """All counts and targets."""

    targets: Numbers

    def choose(self, folds: Sequence[Fold]) -> float:
        """Return the penalty with the smallest squared error on the rows that the folds hold out."""
        begun = [self.begun(fold.learned, FEWEST_TEXTS) for fold in folds]
        best, least = STRENGTHS[0], np.inf
        for strength in STRENGTHS:
            error = 0.0
            for model, fold in zip(begun, folds, strict=True):
                answers = self.fitted(model, strength, fold.learned).logits(fold.held_out)[:, 0]
                error += float(np.square(answers - self.targets[fold.held_out]).sum())
            if error >= least:
                break
            best, least = strength, error
        return best

    def fit(self, strength: float, rows: Rows) -> Model:
        return self.fitted(self.begun(rows, FEWEST_TEXTS), strength, rows)

    def fitted(self, model: Model, strength: float, rows: Rows) -> Model:
        values = model.values(rows)
        weights, bias = np.zeros(values.shape[1], np.float32), self.targets[rows].mean()
        if len(weights):  # otherwise no n-gram is in two texts
            fitted = Ridge(alpha=strength, solver="sparse_cg", tol=_PRECISION, copy_X=False).fit(
                values, self.targets[rows]
            )
            weights, bias = fitted.coef_.astype(np.float32), fitted.intercept_
        return model.with_tfidf(weights[:, None], np.array([bias], np.float32))

    def relevance(self, counts: NgramCounts, columns: Rows, texts: Rows, rows: Rows) -> Array:
        """Return the z-values of the sum of the targets of the texts with each n-gram."""
        away = (self.targets[rows] - self.targets[rows].mean()).astype(np.float32)
        return np.abs(self.present(counts, rows, columns).T @ away) / np.sqrt(
            np.maximum(texts[columns].astype(np.float32), 1)
        )
