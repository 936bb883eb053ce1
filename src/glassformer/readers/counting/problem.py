"""What all fits of a counting reader share: counts of n-grams, those that a file has room for, and their weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from glassformer.data.arrays import Array, FloatArray, blocks
from glassformer.readers.counting.corpus import Corpus, NgramCounts
from glassformer.readers.counting.matrices import joined_rows, texts_with, tfidf_matrix
from glassformer.readers.counting.ngrams import NGRAMS, Family
from glassformer.readers.counting.reader import CountingReader, NgramWeights, spread
from glassformer.readers.folds import Rows

FEWEST_TEXTS = 2  # that an n-gram occurs in
MOST_ROWS_TO_CHOOSE_BY = 50_000  # how strongly to regularise does not change much with more
_LONGEST_FOR_CHARACTERS = 20_000_000  # characters of all texts: beyond, pieces of words take too long for what they add
_LONGEST_TO_LEARN_NGRAMS = 40_000_000  # characters: of longer tables, only n-grams of some rows are used
_BYTES, _BYTES_PER_CLASS = 2_000_000, 80_000  # of the n-grams and their weights in the file


def count_families(corpus: Corpus, fewest: int, *, words_alone: bool = False) -> list[NgramCounts]:
    """Count the n-grams that occur in at least `fewest` texts."""
    words_alone = words_alone or corpus.characters > _LONGEST_FOR_CHARACTERS
    families: tuple[Family, ...] = ("words",) if words_alone else tuple(NGRAMS)
    step = max(1, -(-corpus.characters // _LONGEST_TO_LEARN_NGRAMS))
    return [corpus.count(family, fewest, step=step) for family in families]


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """The counts of all texts. Every fit takes some of the rows, and keeps large matrices of them in `work`."""

    counts: list[NgramCounts]
    outputs: int = 1
    n_classes: int = 1

    @abstractmethod
    def relevance(self, counts: NgramCounts, columns: Rows, texts: Rows, rows: Rows) -> Array:
        """Return how much some n-grams say about what is learned.

        Args:
            texts: in how many of the rows each n-gram occurs.
        """

    def present(self, counts: NgramCounts, rows: Rows, columns: Rows) -> sparse.csr_matrix:
        """Return 1 where a row has an n-gram: (rows, columns)."""
        return joined_rows(presence_of(counts.matrix[block][:, columns]) for block in blocks(rows))

    def begun(self, rows: Rows, fewest: int, *, ways: int = 1) -> Model:
        """Return a model without weights. Its n-grams and their idf are those of these rows alone.

        If n-grams of a single text count too, their relevance says nothing. Then all are kept, to be pruned at the end.

        Args:
            fewest: of the rows that an n-gram occurs in.
            ways: how many weights each n-gram will have for an output.
        """
        texts = [texts_with(counts.matrix, rows) for counts in self.counts]
        kept = [np.flatnonzero(each >= fewest) for each in texts]
        if fewest > 1:
            scores = [self.relevance(*each, rows) for each in zip(self.counts, kept, texts, strict=True)]
            kept = self.with_room(kept, scores, ways)
        idf = [  # as scikit-learn does
            (np.log((1 + len(rows)) / (1 + each[columns])) + 1).astype(np.float32)
            for each, columns in zip(texts, kept, strict=True)
        ]
        return Model(problem=self, kept=kept, idf=idf, bias=np.zeros(self.outputs, np.float32))

    def with_room(self, kept: Sequence[Rows], scores: Sequence[Array], ways: int) -> list[Rows]:
        """Return the n-grams of each family that the file has room for, by the scores of all families."""
        sizes = [counts.sizes[columns] for counts, columns in zip(self.counts, kept, strict=True)]
        weights = 3 + 2 * (1 + self.outputs * ways)  # bytes beside the n-gram: quotes and comma, and float16
        room = _BYTES + _BYTES_PER_CLASS * max(0, self.n_classes - 2)
        order = np.argsort(-np.concatenate(scores), kind="stable")
        fits = np.zeros(len(order), bool)
        fits[order] = np.cumsum(np.concatenate(sizes)[order] + weights, dtype=np.int64) <= room
        ends = np.cumsum([len(columns) for columns in kept])[:-1]
        return [columns[part] for columns, part in zip(kept, np.split(fits, ends), strict=True)]


@dataclass(frozen=True, kw_only=True)
class Model:
    """A reader whose n-grams are columns of the counts of a problem.

    Attributes:
        kept: the columns of each family.
        tfidf, presence: the weights (columns, outputs) of each family; empty before they are fitted.
    """

    problem: Problem
    kept: list[Rows]
    idf: list[FloatArray]
    bias: FloatArray
    tfidf: tuple[FloatArray, ...] = ()
    presence: tuple[FloatArray, ...] = ()

    def with_tfidf(self, weights: FloatArray, bias: FloatArray, *, weight: float = 1.0) -> Model:
        """Return this model with weights (columns of all families, outputs) of TF-IDF values."""
        parts = np.split(weights * weight, np.cumsum([len(columns) for columns in self.kept])[:-1])
        return replace(self, tfidf=tuple(parts), bias=self.bias + weight * bias)

    def values(self, rows: Rows) -> sparse.csr_matrix:
        """Return the TF-IDF values of all families: (rows, n-grams)."""
        parts = (sparse.hstack(self._values(block), format="csr") for block in blocks(rows))
        return joined_rows(parts)

    def _values(self, rows: Rows) -> list[sparse.csr_matrix]:
        """Return the TF-IDF values of each family: (rows, n-grams)."""
        each = zip(self.problem.counts, self.kept, self.idf, strict=True)
        return [tfidf_matrix(counts.matrix[rows][:, columns], idf) for counts, columns, idf in each]

    def logits(self, rows: Rows) -> FloatArray:
        return spread(np.concatenate([self._outputs(block) for block in blocks(rows)]), self.problem.n_classes)

    def _outputs(self, rows: Rows) -> FloatArray:
        total = np.tile(self.bias, (len(rows), 1))
        if self.tfidf:
            for values, weights in zip(self._values(rows), self.tfidf, strict=True):
                total += values @ weights
        if self.presence:
            total += presence_of(self.problem.counts[0].matrix[rows][:, self.kept[0]]) @ self.presence[0]
        return total

    def pruned(self, rows: Rows) -> Model:
        """Return a model of as many n-grams as the file has room for: those that change the logits of the rows most.

        An n-gram changes the logits of a row by weight · value. Its score is the root of the sum of the squares over
        all rows, for the output where it is largest.
        """
        moves = [np.zeros(len(columns)) for columns in self.kept]
        if self.tfidf:
            for values, weights, move in zip(self._values(rows), self.tfidf, moves, strict=True):
                squares = np.asarray(values.multiply(values).sum(axis=0)).ravel()
                move += np.sqrt(squares) * np.abs(weights).max(axis=1)
        if self.presence:
            moves[0] += np.sqrt(texts_with(self.problem.counts[0].matrix, rows)[self.kept[0]]) * np.abs(
                self.presence[0]
            ).max(axis=1)
        kept = self.problem.with_room(self.kept, moves, bool(self.tfidf) + bool(self.presence))
        parts = [np.isin(columns, left) for columns, left in zip(self.kept, kept, strict=True)]
        return replace(
            self,
            kept=kept,
            idf=[idf[part] for idf, part in zip(self.idf, parts, strict=True)],
            tfidf=tuple(weights[part] for weights, part in zip(self.tfidf, parts, strict=False)),  # there may be none
            presence=tuple(weights[parts[0]] for weights in self.presence),
        )

    def reader(self, settings: Mapping[str, Any]) -> CountingReader:
        """Return the same as a reader of texts. Its weights are rounded as the file will hold them."""
        families = []
        for number, (counts, columns) in enumerate(zip(self.problem.counts, self.kept, strict=True)):
            presence = _rounded(self.presence[0]) if self.presence and number == 0 else None
            tfidf = _rounded(self.tfidf[number]) if self.tfidf else None
            if tfidf is None and presence is None:
                continue
            families.append(
                NgramWeights(
                    family=counts.family,
                    ngrams=tuple(counts.named(columns)),
                    idf=_rounded(self.idf[number]),
                    tfidf=tfidf,
                    presence=presence,
                )
            )
        return CountingReader(
            families=tuple(families), bias=_rounded(self.bias), n_classes=self.problem.n_classes, settings=settings
        )


def presence_of(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return 1 in the place of each count."""
    present = counts.copy()
    present.data = np.ones_like(present.data)
    return present


def _rounded(values: FloatArray) -> FloatArray:
    return values.astype(np.float16).astype(np.float32)
