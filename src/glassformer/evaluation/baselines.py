"""Baselines that a model of labels should beat: the majority class, and TF-IDF with logistic regression."""

import re
import sys
import time
import unicodedata
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, ShuffleSplit, StratifiedKFold

from glassformer.data.inputs import SEPARATOR, values_of, without_columns
from glassformer.evaluation.measured import Baseline, Outcome
from glassformer.evaluation.metrics import correct_rows
from glassformer.targets.probabilities import one_hot

INVERSE_REGULARISATIONS = (1, 4, 16, 64)
UNTRIED = 4  # too few rows to choose by cross-validation
FOLDS = 5
FOLDS_SEED = 0
MOST_FOLDED = 1_000_000  # (word of a text) × classes: above, one held-out fifth chooses C, not five folds
MOST_LEARNED = 10_000_000  # the same: above, a part of the rows chooses C
ROWS_TO_PRUNE = 1_000
MAX_ITERATIONS = 1_000

Folds = list[tuple[NDArray[np.int64], NDArray[np.int64]]]  # rows to learn from, held-out rows


def run_baseline(
    baseline: Baseline, *, train_texts: Sequence[str], truth: Shaped[np.ndarray, "n ..."], texts: Sequence[str]
) -> Outcome:
    """Fit a baseline on the training rows, let it answer the measured rows, and measure the time of both."""
    started = time.perf_counter()
    baseline.fit(train_texts, truth)
    fitted = time.perf_counter()
    answers = baseline.answers(texts)
    return Outcome(
        name=baseline.name,
        description=baseline.description,
        answers=answers,
        fit_seconds=fitted - started,
        predict_seconds=time.perf_counter() - fitted,
        size_bytes=baseline.size_bytes,
        notes=baseline.notes,
    )


class MajorityBaseline:
    """Answers every text with the frequencies of the classes in training."""

    name = "the majority class"
    description = "always the most frequent class of the training rows"
    notes: tuple[str, ...] = ()

    def __init__(self, n_classes: int) -> None:
        self.shares: NDArray[np.float64] = np.zeros(n_classes)

    def fit(self, texts: Sequence[str], labels: Shaped[np.ndarray, "n ..."]) -> "MajorityBaseline":  # noqa: ARG002
        self.shares = one_hot(labels, len(self.shares)).mean(axis=0)
        return self

    def answers(self, texts: Sequence[str]) -> Float[np.ndarray, "n n_classes"]:
        return np.tile(self.shares, (len(texts), 1))

    @property
    def size_bytes(self) -> int:
        return 4 * len(self.shares)


class TfidfBaseline:
    """Logistic regression on TF-IDF of words and word pairs. It is hard to beat on a few thousand texts.

    Of rows with several inputs, each text has words of its own, and each value of a column is a feature.

    Term frequencies are sublinear. From 1,000 training rows on, only words and pairs that occur in at least two rows
    are used. With several labels per text, each label has its own regression, and all have the same C.

    The C with the most right answers in 5-fold cross-validation on the training rows is taken, the smallest of equally
    good ones. With several labels, an answer is right if all labels of the text are. Large tables choose C on a single
    held-out fifth; very large ones train on a part of the other rows for this choice. The words and their idf come from
    all training rows.

    Args:
        groups: a group for each training row, such as its author. The choice of C splits no group, unless it is the
            only one.
    """

    name = "TF-IDF + logistic regression"
    description = "words and word pairs, sublinear TF-IDF, L2 logistic regression"

    def __init__(self, n_classes: int, *, groups: Shaped[np.ndarray, " n"] | None = None) -> None:
        self.n_classes = n_classes
        self.groups = groups if groups is not None and len(np.unique(groups)) > 1 else None
        self.notes: tuple[str, ...] = ()

    def fit(self, texts: Sequence[str], labels: Shaped[np.ndarray, "n ..."]) -> "TfidfBaseline":
        """Fit to class numbers (n,), or with several labels per text to multi-hot labels (n, n_classes)."""
        self.multilabel = labels.ndim == 2
        self.features = RowFeatures(texts)
        self.vectorizer, features = self.features.words[0], self.features.matrix
        folds, chosen_by = self._folds(features, labels)
        c = self._choose(features, labels, folds)
        self.description = f"{TfidfBaseline.description}, C = {c:g} {chosen_by}"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            self.models = self._fit_models(features, labels, c)
        if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
            self.notes = (f"The logistic regression had not converged after {MAX_ITERATIONS:,} steps.",)
        return self

    def answers(self, texts: Sequence[str]) -> Float[np.ndarray, "n n_classes"]:
        return self._answer(self.models, self.features.of(texts))

    @property
    def size_bytes(self) -> int:
        """Return the size in bytes, with weights as float32."""
        weights = sum(model.coef_.size + model.intercept_.size for model in self.models if not isinstance(model, int))
        return int(self.features.size_bytes + 4 * weights)

    def _folds(self, features: csr_matrix, labels: Shaped[np.ndarray, "n ..."]) -> tuple[Folds, str]:
        """Return rows to learn from and held-out rows, once or several times, and the words that say so."""
        rows = features.shape[0]
        work = max(1, features.nnz * (self.n_classes if labels.ndim == 2 or self.n_classes > 2 else 1))
        if work > MOST_FOLDED:
            splitter = ShuffleSplit if self.groups is None else GroupShuffleSplit
            cut = splitter(1, test_size=1 / FOLDS, random_state=FOLDS_SEED).split(features, groups=self.groups)
            ((learned, held_out),) = cut
            learned = np.random.default_rng(FOLDS_SEED).permutation(learned)  # with groups they are in order
            return [(learned[: rows * MOST_LEARNED // work], held_out)], "by the accuracy on a held-out fifth"
        if self.groups is not None:
            n_folds = min(FOLDS, len(np.unique(self.groups)))
            whole = list(GroupKFold(n_folds).split(features, groups=self.groups))
            return whole, f"by {n_folds}-fold cross-validation of whole groups"
        stratified = labels.ndim == 1
        n_folds = min(FOLDS, int(np.unique(labels, return_counts=True)[1].max()) if stratified else rows)
        if n_folds < 2:
            return [], "as there are too few rows to choose it"
        cross = (StratifiedKFold if stratified else KFold)(n_folds, shuffle=True, random_state=FOLDS_SEED)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # such a class is missing in some folds
            return list(cross.split(features, labels)), f"by {n_folds}-fold cross-validation"

    def _choose(self, features: csr_matrix, labels: Shaped[np.ndarray, "n ..."], folds: Folds) -> float:
        """Return the C with the most right answers on held-out rows, the smallest of equally good ones."""
        if not folds:
            return UNTRIED

        def right(c: float) -> int:
            count = 0
            for learned, held_out in folds:
                probs = self._answer(self._fit_models(features[learned], labels[learned], c), features[held_out])
                count += int(correct_rows(probs, labels[held_out]).sum())
            return count

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return max(INVERSE_REGULARISATIONS, key=right)  # max returns the first of equally good ones

    def _fit_models(
        self, features: csr_matrix, labels: Shaped[np.ndarray, "n ..."], c: float
    ) -> "list[LogisticRegression | int]":
        targets = list((labels > 0).T) if labels.ndim == 2 else [labels]
        return [_fit_one(features, target, c) for target in targets]

    def _answer(
        self, models: "list[LogisticRegression | int]", features: csr_matrix
    ) -> Float[np.ndarray, "n n_classes"]:
        if self.multilabel:
            return np.stack([_spread(model, features, 2)[:, 1] for model in models], axis=1)
        return _spread(models[0], features, self.n_classes)


class RowFeatures:
    """Learns the words and values of rows (see `data/inputs.py`). A plain text is a row of one text.

    Attributes:
        words: the vectorizer of each text that is not blank in all rows.
        matrix: the features of the rows that were learned.
    """

    def __init__(self, rows: Sequence[str]) -> None:
        self._texts = 1 + max((row.count(SEPARATOR) for row in rows), default=0)
        fields = self._fields(rows)
        self._filled = [number for number, texts in enumerate(fields) if len(fields) == 1 or any(map(str.strip, texts))]
        fitted = [word_features(fields[number]) for number in self._filled]
        self.words = [vectorizer for vectorizer, _ in fitted]
        matrices = [matrix for _, matrix in fitted]
        values = [values_of(row) for row in rows]
        self._values = CountVectorizer(analyzer=list, binary=True, dtype=np.float32) if any(values) else None
        if self._values is not None:
            matrices.append(self._values.fit_transform(values))
        self.matrix = _joined(matrices)

    def of(self, rows: Sequence[str]) -> csr_matrix:
        fields = self._fields(rows)
        matrices = [words.transform(fields[number]) for words, number in zip(self.words, self._filled, strict=True)]
        if self._values is not None:
            matrices.append(self._values.transform([values_of(row) for row in rows]))
        return _joined(matrices)

    @property
    def size_bytes(self) -> int:
        """The size in bytes: the names of all features as UTF-8, idf as float32."""
        names = [name for vectorizer in self.words for name in vectorizer.vocabulary_]
        names += [] if self._values is None else list(self._values.vocabulary_)
        return sum(len(name.encode()) for name in names) + 4 * sum(len(each.idf_) for each in self.words)

    def _fields(self, rows: Sequence[str]) -> list[list[str]]:
        """Return the texts of each row, by their number."""
        texts = [without_columns(row).split(SEPARATOR) for row in rows]
        return [[each[number] if number < len(each) else "" for each in texts] for number in range(self._texts)]


def _joined(matrices: Sequence[Any]) -> csr_matrix:
    return matrices[0] if len(matrices) == 1 else hstack(matrices, format="csr")


def word_features(texts: Sequence[str]) -> tuple[TfidfVectorizer, csr_matrix]:
    """Return the sublinear TF-IDF of words and word pairs, fitted to these texts, and its values for them."""
    word = word_pattern()
    has_words = any(word.search(text) for text in texts)
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2),
        sublinear_tf=True,
        min_df=2 if len(texts) >= ROWS_TO_PRUNE else 1,
        token_pattern=word.pattern if has_words else r"\S",  # texts of symbols only: each symbol is a word
        dtype=np.float32,
    )
    try:
        return vectorizer, vectorizer.fit_transform(texts)
    except ValueError:  # no word is in two texts, as in a list of names
        return vectorizer, vectorizer.set_params(min_df=1).fit_transform(texts)


def _fit_one(features: csr_matrix, target: Shaped[np.ndarray, " n"], c: float) -> "LogisticRegression | int":
    """Fit a regression. If all training rows have the same class, return this class."""
    classes = np.unique(target)
    if len(classes) == 1:
        return int(classes[0])
    return LogisticRegression(C=c, max_iter=MAX_ITERATIONS).fit(features, target)


def _spread(model: "LogisticRegression | int", features: csr_matrix, n_classes: int) -> NDArray[np.float64]:
    """Return the probabilities of a regression for all classes, also for classes without training rows."""
    probs = np.zeros((features.shape[0], n_classes))
    if isinstance(model, int):
        probs[:, model] = 1
    else:
        probs[:, model.classes_.astype(int)] = model.predict_proba(features)
    return probs


# Scripts without spaces between words. A single character is the best guess at a word:
# Thai, Lao, Myanmar, Khmer, kana, bopomofo, Han with its extensions.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


@cache
def marks_of_letters() -> str:
    """Return the marks of all scripts, such as accents and vowel signs, for a character class of `re`."""
    return "".join(re.escape(c) for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c)[0] == "M")


@cache
def word_pattern() -> re.Pattern[str]:
    """Return a pattern that matches a word of any language.

    A word is a run of letters, digits and marks; it may be a single character. In scripts without spaces between words,
    a word is one character with its marks. The pattern lists all marks: `re` takes the vowel signs of Hindi, Tamil,
    Thai, … for punctuation.
    """
    marks = marks_of_letters()
    run = rf"[^\W{UNSPACED}]+"
    return re.compile(rf"{run}(?:[{marks}]+(?:{run})?)*|(?=\w)[{UNSPACED}][{marks}]*")
