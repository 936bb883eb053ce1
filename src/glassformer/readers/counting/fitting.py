"""Fit a counting reader with scikit-learn: choose its n-grams, how strongly to regularise, and how to weigh them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from glassformer.data.arrays import Array, FloatArray, blocks, gathered, numbers_from
from glassformer.readers.counting.corpus import Corpus, NgramCounts
from glassformer.readers.counting.problem import (
    FEWEST_TEXTS,
    MOST_ROWS_TO_CHOOSE_BY,
    Model,
    Problem,
    count_families,
    presence_of,
)
from glassformer.readers.counting.reader import CountingReader, n_outputs
from glassformer.readers.counting.regression import log_count_ratios, regression_per_output, softmax_regression
from glassformer.readers.folds import Rows, folds_within
from glassformer.readers.joining import join
from glassformer.readers.reader import FittedReader, Fold

if TYPE_CHECKING:
    import polars as pl

Labels = Array
Counting = Literal["auto", "tfidf", "nb", "none"]
Way = Literal["tfidf", "nb"]

STRENGTHS: Mapping[Way, tuple[float, ...]] = {
    "tfidf": (0.25, 1.0, 4.0, 16.0, 64.0, 256.0),
    "nb": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
}
"""The values of C that cross-validation tries, weakest regularisation last, until the log loss rises."""
_ROWS_TO_LEAVE_OUT_RARE = 1_000  # of a smaller table, cross-validation decides about n-grams of a single text
_DOUBT = 2.0  # nats by which held-out rows must speak for leaving them out: of a few rows, they are most n-grams
_MOST_ROWS_TO_CROSS_VALIDATE, _MOST_CLASSES_TO_CROSS_VALIDATE = 20_000, 20  # beyond, the given folds choose
_MOST_CLASSES_FOR_NB = 20  # it fits a regression for each class


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
    beside_body: bool = False,
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
        beside_body: whether word vectors or an encoder read the texts too. Without them, `tfidf` leads while rows are
            few: `nb`, whose values are not divided by the length of a text, learns that short ones are of one class.
    """
    began = time.perf_counter()
    weights = np.ones(len(texts), np.float32) if row_weights is None else row_weights
    by_size = (FEWEST_TEXTS,) if len(texts) >= _ROWS_TO_LEAVE_OUT_RARE else (FEWEST_TEXTS, 1)
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
    thinned = [fold.thinned(MOST_ROWS_TO_CHOOSE_BY, seed) for fold in trials]
    ways, leading = _ways(counting, n_classes), None if beside_body else 0
    plans = [(each, *problem.plan(ways, each, thinned, leading)) for each in tried]
    plan = min(plans, key=lambda each: each[1] + (_DOUBT if each[0] > min(tried) else 0))[2]
    held_out = np.concatenate([problem.fit(plan, fold.learned).logits(fold.held_out) for fold in folds])
    reader = problem.fit(plan, numbers_from(0, len(texts))).reader(_settings(counting, plan))
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
        labels: see `fit_counting`.

    Returns:
        The logits (rows of the folds, n_classes), in the order of the folds.
    """
    problem = _Problem(
        counts=count_families(Corpus.of(texts), FEWEST_TEXTS),
        labels=labels,
        outputs=n_outputs(n_classes, multilabel=labels.ndim == 2),
        n_classes=n_classes,
        row_weights=np.ones(len(texts), np.float32),
        positive_weights=None,
    )
    plan = problem.plan(["tfidf"], FEWEST_TEXTS, [folds[0].thinned(MOST_ROWS_TO_CHOOSE_BY, 0)])[1]
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


@dataclass(frozen=True, kw_only=True)
class _Problem(Problem):
    """All counts and labels."""

    labels: Labels
    row_weights: FloatArray
    positive_weights: FloatArray | None

    def plan(
        self, ways: Sequence[Way], fewest: int, folds: Sequence[Fold], leading: int | None = None
    ) -> tuple[float, _Plan]:
        """Choose C for each way of counting, and their weights, by the log loss of the rows that the folds hold out.

        Args:
            leading: the number of the way that leads while rows are few (see `join`).

        Returns:
            This log loss, and what it chose.
        """
        truth = np.concatenate([self.labels[fold.held_out] for fold in folds])
        weights = np.concatenate([self.row_weights[fold.held_out] for fold in folds])
        multilabel = truth.ndim == 2
        begun = [self.begun(fold.learned, fewest) for fold in folds]  # once: their n-grams are the same for every C
        best: dict[Way, tuple[float, float, FloatArray]] = {}
        for way in ways:
            for strength in STRENGTHS[way]:
                plan = _Plan(choices=(_Choice(way=way, strength=strength),), fewest=fewest)
                logits = np.concatenate(
                    [
                        self.fitted(model, plan, fold.learned).logits(fold.held_out)
                        for model, fold in zip(begun, folds, strict=True)
                    ]
                )
                loss = join([logits], truth, multilabel=multilabel, row_weights=weights).loss
                if way in best and loss >= best[way][0]:
                    break
                best[way] = (loss, strength, logits)
        joined = join(
            [logits for _, _, logits in best.values()],
            truth,
            multilabel=multilabel,
            row_weights=weights,
            leading=leading,
            odds=np.inf,
        )
        chosen = [
            _Choice(way=way, strength=strength, weight=weight)
            for (way, (_, strength, _)), weight in zip(best.items(), joined.weights, strict=True)
        ]
        weighty = tuple(choice for choice in chosen if choice.weight > 0)
        return joined.loss, _Plan(choices=weighty or tuple(chosen[:1]), fewest=fewest)

    def fit(self, plan: _Plan, rows: Rows) -> Model:
        return self.fitted(self.begun(rows, plan.fewest, ways=len(plan.choices)), plan, rows)

    def fitted(self, model: Model, plan: _Plan, rows: Rows) -> Model:
        for choice in plan.choices:
            model = self._with_fit(model, choice, rows)
        return model if plan.fewest > 1 else model.pruned(rows)

    def relevance(self, counts: NgramCounts, columns: Rows, texts: Rows, rows: Rows) -> Array:
        """Return χ²: in how many texts of each class n-grams occur, and how many chance would expect."""
        observed, of_class = np.zeros((len(columns), self.n_classes), np.float32), np.zeros(self.n_classes)
        for block in blocks(rows):
            classes = self._one_hot(block)
            observed += presence_of(counts.matrix[block][:, columns]).T @ classes
            of_class += classes.sum(axis=0)
        expected = texts[columns][:, None] * (of_class / len(rows)).astype(np.float32)
        return ((observed - expected) ** 2 / np.maximum(expected, 1e-9)).sum(axis=1)

    def _one_hot(self, rows: Rows) -> Array:
        labels = self.labels[rows]
        hot = labels if labels.ndim == 2 else np.eye(self.n_classes, dtype=np.float32)[labels]
        return hot.astype(np.float32, copy=False)

    def _targets(self, rows: Rows) -> Array:
        """Return for each output whether a row is of its class: (rows, outputs)."""
        outputs = slice(-self.outputs, None)  # of two classes the second
        return gathered(self._one_hot(block)[:, outputs] > 0 for block in blocks(rows))

    def _with_fit(self, model: Model, choice: _Choice, rows: Rows) -> Model:
        """Return the model with the weights of another way of counting."""
        if choice.way == "tfidf":
            return model.with_tfidf(*self._regression(model.values(rows), choice, rows), weight=choice.weight)
        present = self.present(self.counts[0], rows, model.kept[0])
        ratios = log_count_ratios(present, self._targets(rows), self._of_rows(self.row_weights, rows))
        weights, bias = self._regression(present, choice, rows, ratios)
        return replace(model, presence=(weights * choice.weight,), bias=model.bias + choice.weight * bias)

    def _regression(
        self, values: sparse.csr_matrix, choice: _Choice, rows: Rows, ratios: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        weights = self._of_rows(self.row_weights, rows)
        if ratios is None and self.labels.ndim == 1 and self.outputs > 1:
            labels, n_classes = self._of_rows(self.labels, rows), self.n_classes
            return softmax_regression(
                values, labels, strength=choice.strength, row_weights=weights, n_classes=n_classes
            )
        return regression_per_output(
            values,
            self._targets(rows),
            strength=choice.strength,
            row_weights=weights,
            ratios=ratios,
            positive_weights=self.positive_weights,
        )

    def _of_rows(self, values: Array, rows: Rows) -> Array:
        return gathered(values[block] for block in blocks(rows))


def _settings(counting: Counting, plan: _Plan) -> dict[str, Any]:
    ways = {choice.way: {"C": choice.strength, "weight": round(choice.weight, 4)} for choice in plan.choices}
    return {"counting": counting, "ways": ways, "fewest_texts": plan.fewest}
