"""Fit a counting reader with scikit-learn: choose its n-grams, how strongly to regularise, and how to weigh them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from glassformer.data.arrays import Array, FloatArray
from glassformer.readers.counting.corpus import Corpus, NgramCounts
from glassformer.readers.counting.matrices import blocks, taken, texts_with, tfidf_matrix
from glassformer.readers.counting.ngrams import NGRAMS, Family
from glassformer.readers.counting.reader import CountingReader, NgramWeights, n_outputs, spread
from glassformer.readers.counting.regression import Labels, log_count_ratios, regression_per_output, softmax_regression
from glassformer.readers.folds import Rows, folds_within
from glassformer.readers.joining import join
from glassformer.readers.reader import FittedReader, Fold

if TYPE_CHECKING:
    import polars as pl

Counting = Literal["auto", "tfidf", "nb", "none"]
Way = Literal["tfidf", "nb"]

STRENGTHS: Mapping[Way, tuple[float, ...]] = {
    "tfidf": (0.25, 1.0, 4.0, 16.0, 64.0, 256.0),
    "nb": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
}
"""The values of C that cross-validation tries, weakest regularisation last, until the log loss rises."""
_FEWEST_TEXTS = 2  # that an n-gram occurs in
_ROWS_TO_LEAVE_OUT_RARE = 1_000  # of a smaller table, cross-validation decides about n-grams of a single text
_LONGEST_FOR_CHARACTERS = 20_000_000  # characters of all texts: beyond, pieces of words take too long for what they add
_LONGEST_TO_LEARN_NGRAMS = 40_000_000  # characters: of longer tables, only n-grams of some rows are used
_MOST_ROWS_TO_CROSS_VALIDATE, _MOST_CLASSES_TO_CROSS_VALIDATE = 20_000, 20  # beyond, the given folds choose
_MOST_ROWS_TO_CHOOSE_BY = 50_000  # C and the weights do not change much with more
_MOST_CLASSES_FOR_NB = 20  # it fits a regression for each class
_BYTES, _BYTES_PER_CLASS = 2_000_000, 80_000


def fit_counting(
    counting: Counting,
    texts: Sequence[str] | pl.Series,
    labels: Labels,
    *,
    n_classes: int,
    folds: Sequence[Fold],
    groups: Labels | None = None,
    row_weights: FloatArray | None = None,
    positive_weights: FloatArray | None = None,
    fewest: int | None = None,
    seed: int = 0,
) -> FittedReader[CountingReader]:
    """Fit a reader to all texts.

    `tfidf` is logistic regression on the TF-IDF of words and pieces of words. `nb` is logistic regression on the
    presence of words, each multiplied by its naive Bayes log-count ratio (Wang & Manning 2012, §2.3). `auto` adds both
    up with the weights that cross-validation finds. The strength of the L2 penalty is chosen by cross-validation too.

    Args:
        labels: class numbers (texts,), or ones and zeros (texts, n_classes) for several labels per text.
        folds: rows whose logits are wanted from a reader that has not seen them.
        groups: a number for each row that the first fold learns from. Cross-validation splits no group.
        row_weights: (texts,) the weight of each text in the loss.
        positive_weights: (n_classes,) with several labels per text, the weight of the texts that carry a label.
        fewest: of the texts that an n-gram occurs in. None: two, and with few texts cross-validation may choose one.
    """
    began = time.perf_counter()
    weights = np.ones(len(texts), np.float32) if row_weights is None else row_weights
    by_size = (_FEWEST_TEXTS,) if len(texts) >= _ROWS_TO_LEAVE_OUT_RARE else (_FEWEST_TEXTS, 1)
    tried = by_size if fewest is None else (fewest,)
    problem = _Problem(
        counts=count_families(Corpus.of(texts), min(tried), words_alone=counting == "nb"),
        labels=labels,
        outputs=n_outputs(n_classes, multilabel=labels.ndim == 2),
        n_classes=n_classes,
        row_weights=weights,
        positive_weights=positive_weights,
    )
    many = len(texts) > _MOST_ROWS_TO_CROSS_VALIDATE or n_classes > _MOST_CLASSES_TO_CROSS_VALIDATE
    given = many or len(folds) > 1 or len(folds[0].learned) < 2
    trials = folds if given else folds_within(folds[0], labels, seed, groups, _numbers(texts)[folds[0].learned])
    thinned = [fold.thinned(_MOST_ROWS_TO_CHOOSE_BY, seed) for fold in trials]
    plans = [problem.plan(_ways(counting, n_classes), each, thinned) for each in tried]
    plan = min(plans, key=itemgetter(0))[1]
    held_out = np.concatenate([problem.fit(plan, fold.learned).logits(fold.held_out) for fold in folds])
    reader = problem.fit(plan, np.arange(len(texts))).reader(_settings(counting, plan))
    return FittedReader(reader=reader, held_out=held_out, seconds=time.perf_counter() - began)


def held_out_logits(
    texts: Sequence[str] | pl.Series,
    labels: Labels,
    *,
    n_classes: int,
    folds: Sequence[Fold],
    on_progress: Callable[[float], None],
) -> FloatArray:
    """Return the logits of the rows that the folds hold out, by readers of the kind `tfidf` that have not seen them.

    This is the quick way to look at every row of a table once: the first fold chooses C for all of them.

    Args:
        labels: (texts,) class numbers.
        on_progress: is called with the share of the work that is done.

    Returns:
        The logits (rows of the folds, n_classes), in the order of the folds.
    """
    problem = _Problem(
        counts=count_families(Corpus.of(texts), _FEWEST_TEXTS, words_alone=False),
        labels=labels,
        outputs=n_outputs(n_classes, multilabel=False),
        n_classes=n_classes,
        row_weights=np.ones(len(texts), np.float32),
        positive_weights=None,
    )
    plan = problem.plan(["tfidf"], _FEWEST_TEXTS, [folds[0].thinned(_MOST_ROWS_TO_CHOOSE_BY, 0)])[1]
    parts = []
    for number, fold in enumerate(folds, 1):
        on_progress(number / (len(folds) + 1))
        parts.append(problem.fit(plan, fold.learned).logits(fold.held_out))
    return np.concatenate(parts)


def _numbers(texts: Iterable[str]) -> Rows:
    """Return a number for each text: the same for the same text."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(text, len(seen)) for text in texts], np.int64)


def _ways(counting: Counting, n_classes: int) -> list[Way]:
    if counting == "auto":
        return ["tfidf", "nb"] if n_classes <= _MOST_CLASSES_FOR_NB else ["tfidf"]
    return ["nb"] if counting == "nb" else ["tfidf"]


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """A way of counting, its value of C, and the weight of its logits."""

    way: Way
    strength: float
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What is fitted.

    Attributes:
        fewest: the fewest learned rows in which an n-gram must occur.
    """

    choices: tuple[_Choice, ...]
    fewest: int


def count_families(corpus: Corpus, fewest: int, *, words_alone: bool) -> list[NgramCounts]:
    """Count the n-grams that occur in at least `fewest` texts."""
    words_alone = words_alone or corpus.characters > _LONGEST_FOR_CHARACTERS
    families: tuple[Family, ...] = ("words",) if words_alone else tuple(NGRAMS)
    step = max(1, -(-corpus.characters // _LONGEST_TO_LEARN_NGRAMS))
    return [corpus.count(family, fewest, step=step) for family in families]


@dataclass(frozen=True, kw_only=True)
class _Problem:
    """All counts and labels. Every fit takes some of the rows."""

    counts: list[NgramCounts]
    labels: Labels
    outputs: int
    n_classes: int
    row_weights: FloatArray
    positive_weights: FloatArray | None

    def plan(self, ways: Sequence[Way], fewest: int, folds: Sequence[Fold]) -> tuple[float, _Plan]:
        """Choose C for each way of counting, and their weights, by the log loss of the rows that the folds hold out.

        Returns:
            This log loss, and what it chose.
        """
        truth = np.concatenate([self.labels[fold.held_out] for fold in folds])
        weights = np.concatenate([self.row_weights[fold.held_out] for fold in folds])
        multilabel = truth.ndim == 2
        best: dict[Way, tuple[float, float, FloatArray]] = {}
        for way in ways:
            for strength in STRENGTHS[way]:
                plan = _Plan(choices=(_Choice(way=way, strength=strength),), fewest=fewest)
                logits = np.concatenate([self.fit(plan, fold.learned).logits(fold.held_out) for fold in folds])
                loss = join([logits], truth, multilabel=multilabel, row_weights=weights).loss
                if way in best and loss >= best[way][0]:
                    break
                best[way] = (loss, strength, logits)
        joined = join([logits for _, _, logits in best.values()], truth, multilabel=multilabel, row_weights=weights)
        chosen = [
            _Choice(way=way, strength=strength, weight=weight)
            for (way, (_, strength, _)), weight in zip(best.items(), joined.weights, strict=True)
        ]
        weighty = tuple(choice for choice in chosen if choice.weight > 0)
        return joined.loss, _Plan(choices=weighty or tuple(chosen[:1]), fewest=fewest)

    def fit(self, plan: _Plan, rows: Rows) -> _Model:
        """Fit to some rows. The n-grams and their idf are those of these rows alone.

        If n-grams of a single text count too, their χ² says nothing. Then all are fitted, and pruned at the end.
        """
        texts = [texts_with(counts.matrix, rows) for counts in self.counts]
        kept = [np.flatnonzero(each >= plan.fewest) for each in texts]
        if plan.fewest > 1:
            scores = [self._chi_squared(*each, rows) for each in zip(self.counts, kept, texts, strict=True)]
            kept = self.with_room(kept, scores, len(plan.choices))
        idf = [idf_of(len(rows), each[columns]) for each, columns in zip(texts, kept, strict=True)]
        model = _Model(problem=self, kept=kept, idf=idf, bias=np.zeros(self.outputs, np.float32))
        for choice in plan.choices:
            model = model.with_fit(choice, rows)
        return model if plan.fewest > 1 else model.pruned(rows)

    def with_room(self, kept: Sequence[Rows], scores: Sequence[Array], ways: int) -> list[Rows]:
        """Return the n-grams of each family that the file has room for, by the scores of all families."""
        sizes = [
            np.array([len(ngram.encode()) + 3 for ngram in counts.ngrams[columns]], np.int64)
            for counts, columns in zip(self.counts, kept, strict=True)
        ]
        weights = 2 * (1 + self.outputs * ways)  # bytes of float16
        room = _BYTES + _BYTES_PER_CLASS * max(0, self.n_classes - 2)
        order = np.argsort(-np.concatenate(scores), kind="stable")
        fits = np.zeros(len(order), bool)
        fits[order] = np.cumsum(np.concatenate(sizes)[order] + weights) <= room
        ends = np.cumsum([len(columns) for columns in kept])[:-1]
        return [columns[part] for columns, part in zip(kept, np.split(fits, ends), strict=True)]

    def _chi_squared(self, counts: NgramCounts, columns: Rows, texts: Rows, rows: Rows) -> Array:
        """Return χ² of some n-grams: in how many texts of each class they occur, and how many chance would expect.

        Args:
            texts: in how many of the rows each n-gram occurs.
        """
        observed = np.zeros((len(columns), self.n_classes), np.float32)
        for block in blocks(rows):
            observed += _presence(counts.matrix[block][:, columns]).T @ self._one_hot(block)
        expected = texts[columns][:, None] * self._one_hot(rows).mean(axis=0)
        statistic: Array = ((observed - expected) ** 2 / np.maximum(expected, 1e-9)).sum(axis=1)
        return statistic

    def _one_hot(self, rows: Rows) -> Array:
        labels = self.labels[rows]
        hot = labels if labels.ndim == 2 else np.eye(self.n_classes, dtype=np.float32)[labels]
        return hot.astype(np.float32, copy=False)

    def targets(self, rows: Rows) -> Array:
        """Return for each output whether a row is of its class: (rows, outputs)."""
        return self._one_hot(rows)[:, -self.outputs :] > 0  # of two classes the second


@dataclass(frozen=True, kw_only=True)
class _Model:
    """A reader whose n-grams are columns of the counts of a problem.

    Attributes:
        kept: the columns of each family.
        tfidf, presence: the weights (columns, outputs) of each family; empty before they are fitted.
    """

    problem: _Problem
    kept: list[Rows]
    idf: list[FloatArray]
    bias: FloatArray
    tfidf: tuple[FloatArray, ...] = ()
    presence: tuple[FloatArray, ...] = ()

    def with_fit(self, choice: _Choice, rows: Rows) -> _Model:
        if choice.way == "tfidf":
            values = sparse.hstack(self._values(rows), format="csr")
            weights, bias = self._regression(values, choice, rows)
            parts = np.split(weights * choice.weight, np.cumsum([len(columns) for columns in self.kept])[:-1])
            return replace(self, tfidf=tuple(parts), bias=self.bias + choice.weight * bias)
        present = _presence(self._counts(0, rows))
        ratios = log_count_ratios(present, self.problem.targets(rows), self.problem.row_weights[rows])
        weights, bias = self._regression(present, choice, rows, ratios)
        return replace(self, presence=(weights * choice.weight,), bias=self.bias + choice.weight * bias)

    def _regression(
        self, values: sparse.csr_matrix, choice: _Choice, rows: Rows, ratios: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        problem = self.problem
        weights = problem.row_weights[rows]
        if ratios is None and problem.labels.ndim == 1 and problem.outputs > 1:
            labels, n_classes = problem.labels[rows], problem.n_classes
            return softmax_regression(
                values, labels, strength=choice.strength, row_weights=weights, n_classes=n_classes
            )
        return regression_per_output(
            values,
            problem.targets(rows),
            strength=choice.strength,
            row_weights=weights,
            ratios=ratios,
            positive_weights=problem.positive_weights,
        )

    def pruned(self, rows: Rows) -> _Model:
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

    def logits(self, rows: Rows) -> FloatArray:
        total = np.tile(self.bias, (len(rows), 1))
        if self.tfidf:
            for values, weights in zip(self._values(rows), self.tfidf, strict=True):
                total += values @ weights
        if self.presence:
            total += _presence(self._counts(0, rows)) @ self.presence[0]
        return spread(total, self.problem.n_classes)

    def _counts(self, family: int, rows: Rows) -> sparse.csr_matrix:
        return taken(self.problem.counts[family].matrix, rows, self.kept[family])

    def _values(self, rows: Rows) -> list[sparse.csr_matrix]:
        return [tfidf_matrix(self._counts(family, rows), idf) for family, idf in enumerate(self.idf)]

    def reader(self, settings: Mapping[str, Any]) -> CountingReader:
        """Return the same as a reader of texts. Its weights are rounded as the file will hold them."""
        families = []
        for number, (counts, columns) in enumerate(zip(self.problem.counts, self.kept, strict=True)):
            presence = rounded(self.presence[0]) if self.presence and number == 0 else None
            tfidf = rounded(self.tfidf[number]) if self.tfidf else None
            if tfidf is None and presence is None:
                continue
            families.append(
                NgramWeights(
                    family=counts.family,
                    ngrams=tuple(counts.ngrams[columns]),
                    idf=rounded(self.idf[number]),
                    tfidf=tfidf,
                    presence=presence,
                )
            )
        return CountingReader(
            families=tuple(families), bias=rounded(self.bias), n_classes=self.problem.n_classes, settings=settings
        )


def _presence(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    present = counts.copy()
    present.data = np.ones_like(present.data)
    return present


def idf_of(texts: int, with_ngram: Rows) -> FloatArray:
    """Return ln((1 + texts) / (1 + texts with the n-gram)) + 1, as scikit-learn does."""
    idf: FloatArray = (np.log((1 + texts) / (1 + with_ngram)) + 1).astype(np.float32)
    return idf


def rounded(values: FloatArray) -> FloatArray:
    return values.astype(np.float16).astype(np.float32)


def _settings(counting: Counting, plan: _Plan) -> dict[str, Any]:
    ways = {choice.way: {"C": choice.strength, "weight": round(choice.weight, 4)} for choice in plan.choices}
    return {"counting": counting, "ways": ways, "fewest_texts": plan.fewest}
