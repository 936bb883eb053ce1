"""The other classifiers of the bench. They use nothing of glassformer, so its changes do not change their answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from glassformer.data.arrays import DoubleArray, IntArray

TOKEN = r"\w+|[^\w\s]"
"""A word, or a punctuation mark by itself."""


class NaiveBayesRegression:
    """Logistic regression on words, pairs and triples that are weighted by naive Bayes (Wang & Manning, ACL 2012).

    A feature is 1 if a text has it, times the log-count ratio r = ln((p/|p|) / (q/|q|)). Here p counts the texts of the
    class that have the feature, q those of the others, both plus 1. Two classes have one regression. More classes have
    one each against the rest, with ratios of their own. From 1,000 texts on, features of a single text are left out.

    C is the one of `GRID` with the highest accuracy in three-fold cross-validation on the training rows, or on 10,000
    of them drawn at random if there are more.
    """

    name = "NB-LR"
    description = (
        "binary 1–3-grams of words, naive-Bayes log-count ratios, L2 logistic regression, C by cross-validation"
    )
    GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    FOLDS, MOST_ROWS_TO_CHOOSE, ROWS_TO_PRUNE = 3, 10_000, 1_000

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.notes: tuple[str, ...] = ()

    def fit(self, texts: Sequence[str], labels: IntArray) -> NaiveBayesRegression:
        self.vectorizer = CountVectorizer(
            binary=True,
            ngram_range=(1, 3),
            min_df=2 if len(texts) >= self.ROWS_TO_PRUNE else 1,
            token_pattern=TOKEN,
            dtype=np.float32,
        )
        features = self.vectorizer.fit_transform(texts)
        c = self._choose(features, labels)
        self.notes = (f"C = {c:g}",)
        self.models = self._fit(features, labels, c)
        return self

    def answers(self, texts: Sequence[str]) -> DoubleArray:
        """Return values between 0 and 1 that rank the classes. They do not add up to 1."""
        return self._answer(self.models, self.vectorizer.transform(texts))

    @property
    def size_bytes(self) -> int:
        words = sum(len(word.encode()) for word in self.vectorizer.vocabulary_)
        return int(words + sum(4 * len(weights) for weights, _ in self.models))

    def _choose(self, features: Any, labels: IntArray) -> float:
        rows = np.random.default_rng(0).permutation(len(labels))[: self.MOST_ROWS_TO_CHOOSE]
        features, labels = features[rows], labels[rows]
        folds = StratifiedKFold(self.FOLDS, shuffle=True, random_state=0)
        right = dict.fromkeys(self.GRID, 0)
        for learned, held_out in folds.split(features, labels):
            for c in self.GRID:
                answers = self._answer(self._fit(features[learned], labels[learned], c), features[held_out])
                right[c] += int((answers.argmax(axis=1) == labels[held_out]).sum())
        return max(right, key=right.__getitem__)  # of equals the first, which is the most regularised

    def _fit(self, features: Any, labels: IntArray, c: float) -> list[tuple[DoubleArray, float]]:
        classes = [1] if self.n_classes == 2 else range(self.n_classes)
        return [self._fit_class(features, labels == number, c) for number in classes]

    def _fit_class(
        self, features: Any, of_class: np.ndarray[Any, np.dtype[np.bool_]], c: float
    ) -> tuple[DoubleArray, float]:
        """Return the weights of the features, ratios multiplied in, and the bias."""
        if of_class.all() or not of_class.any():  # a fold without this class
            return np.zeros(features.shape[1]), 20.0 if of_class.all() else -20.0
        inside = np.asarray(features[of_class].sum(axis=0), dtype=np.float64).ravel() + 1
        outside = np.asarray(features[~of_class].sum(axis=0), dtype=np.float64).ravel() + 1
        ratios = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
        weighted = features.multiply(ratios.astype(np.float32)).tocsr()
        model = LogisticRegression(C=c, solver="liblinear", dual=True, max_iter=1_000, random_state=0)
        with warnings.catch_warnings():  # large C may not converge, and then has to win as it is
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(weighted, of_class)
        return model.coef_[0] * ratios, float(model.intercept_[0])

    def _answer(self, models: list[tuple[DoubleArray, float]], features: Any) -> DoubleArray:
        scores = np.stack([features @ weights + bias for weights, bias in models], axis=1)
        probs: DoubleArray = 1 / (1 + np.exp(-np.clip(scores, -50, 50)))
        return np.concatenate([1 - probs, probs], axis=1) if self.n_classes == 2 else probs


def train_fasttext(file: Path, model: Path, seed: int, settings: dict[str, Any]) -> str | None:
    """Train in a process of its own, and write the model. Returns what went wrong, if anything did.

    In a process that had trained for long, fastText met NaN at every learning rate, with rows that it learns from
    without trouble in a new one. With one thread, the same seed gives the same model.
    """
    code = (
        "import fasttext, json, sys\n"
        "file, model, settings = sys.argv[1:]\n"
        "fasttext.train_supervised(file, **json.loads(settings)).save_model(model)\n"
    )
    asked = json.dumps(settings | {"seed": seed, "thread": 1, "verbose": 0})
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), str(model), asked], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]


class FastText:
    """fastText (Joulin et al., EACL 2017), lower-cased words and punctuation marks, with the settings of its tutorial.

    These are word pairs, 25 epochs and a learning rate of .5; all else is as fastText has it, and nothing is tuned,
    unless `settings` say so. Its defaults (5 epochs, learning rate .1) hardly learn from a few thousand texts. If it
    diverges, as it does with many classes, the learning rate is halved.
    """

    name = "fastText"
    description = "words and word pairs, 25 epochs, learning rate .5, dimension 100, softmax"
    SETTINGS = {"wordNgrams": 2, "epoch": 25, "lr": 0.5}  # noqa: RUF012
    LOWEST_RATE = 0.05

    def __init__(self, n_classes: int, *, seed: int, **settings: Any) -> None:
        self.n_classes = n_classes
        self.seed = seed
        self.settings = self.SETTINGS | settings
        self.notes: tuple[str, ...] = ()

    @staticmethod
    def is_installed() -> bool:
        return find_spec("fasttext") is not None

    def fit(self, texts: Sequence[str], labels: IntArray) -> FastText:
        import fasttext

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.txt"
            rows = np.random.default_rng(self.seed).permutation(len(texts)).tolist()  # fastText keeps the file's order
            lines = (f"__label__{labels[row]} {_tokens(texts[row])}\n" for row in rows)
            file.write_text("".join(lines), encoding="utf-8")
            settings, model = dict(self.settings), Path(folder) / "model.bin"
            while (problem := train_fasttext(file, model, self.seed, settings)) is not None:
                if "NaN" not in problem or settings["lr"] < self.LOWEST_RATE:
                    raise RuntimeError(f"fastText: {problem}")
                settings["lr"] /= 2
                self.notes = (f"learning rate {settings['lr']:g}",)
            self.model = fasttext.load_model(str(model))
        return self

    @property
    def size_bytes(self) -> int:
        """Return the size of its vectors in float32, without quantization."""
        asked = self.model.f.getArgs()
        return 4 * asked.dim * (asked.bucket + len(self.model.words) + len(self.model.labels))

    def answers(self, texts: Sequence[str]) -> DoubleArray:
        probs = np.zeros((len(texts), self.n_classes))
        names, shares = self.model.predict([_tokens(text) for text in texts], k=self.n_classes)
        for row, (of_row, of_names) in enumerate(zip(shares, names, strict=True)):
            for name, share in zip(of_names, of_row, strict=True):
                probs[row, int(name.removeprefix("__label__"))] = share
        return probs


def _tokens(text: str) -> str:
    return " ".join(re.findall(TOKEN, text.lower()))
