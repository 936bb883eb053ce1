"""Which score tells texts from elsewhere from the rows of a model's own table?

    python -m benchmarks.unlike

A model is trained on each data set, without a fifth of its training rows. These rows are compared with texts from
elsewhere: rows of the other data sets, the same rows with the letters of each word shuffled, and with their words
shuffled. No test row is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.covariance import ledoit_wolf
from sklearn.metrics import roc_auc_score

from benchmarks.bench_data import Cut, Entry, cut_rows
from benchmarks.experiment import arguments, running
from benchmarks.models import classifier
from glassformer.prediction.nearest import pooled_vectors
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.ngrams import words_of
from glassformer.training.recipe import load_recipe
from glassformer.training.unlike import threshold_of

DATA = ("trec", "customer-reviews", "disaster-tweets", "vietnamese-feedback")
SCORES = ("words and pairs", "words", "distance", "pairs and distance", "probability")
SEED, MOST_TEXTS = 0, 1_000
LETTERS, ORDER = "letters shuffled", "words shuffled"

Texts = Sequence[str]
Scores = Callable[[Texts], np.ndarray]


def main() -> None:
    """Train, measure, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        cuts = {
            name: cut_rows(Entry(name=name, data=name, minutes=1), SEED, test=False, quick=options.quick)
            for name in DATA
        }
        recipe = load_recipe(None)
        folders = {name: classifier(experiment, f"unlike-{name}", recipe, cut.train) for name, cut in cuts.items()}
        lines = [measure(name, Predictor.load(folder), cuts) for name, folder in folders.items()]
        experiment.write("unlike", {"seed": SEED, "scores": SCORES, "tables": lines})


def measure(name: str, predictor: Predictor, cuts: Mapping[str, Cut]) -> dict[str, Any]:
    """Return for each score the AUROC of its own rows against texts from elsewhere, and the shares called unlike.

    The threshold of the first score is that of the model. Every second held-out row sets those of the others, and the
    scale of a sum. The other half of them is measured.
    """
    texts = {each: cut.held_out.frame["text"].to_list()[:MOST_TEXTS] for each, cut in cuts.items()}
    draw = np.random.default_rng(SEED)
    own, calibrating = texts[name][::2], texts[name][1::2]
    elsewhere = {other: found for other, found in texts.items() if other != name}
    elsewhere |= {LETTERS: [_letters(text, draw) for text in own], ORDER: [_order(text, draw) for text in own]}
    scores = _scores(predictor, cuts[name], calibrating)
    seen = predictor.trained.seen
    assert seen is not None
    found: dict[str, Any] = {}
    for score, of in scores.items():
        threshold = seen.config.threshold if score == SCORES[0] else threshold_of(of(calibrating))
        values = of(own)
        others = {kind: of(other) for kind, other in elsewhere.items()}
        found[score] = {
            "threshold": float(threshold),
            "own": float(np.mean(values > np.float32(threshold))),
            "elsewhere": {
                kind: {"auroc": _auroc(values, other), "unlike": float(np.mean(other > np.float32(threshold)))}
                for kind, other in others.items()
            },
        }
    return {
        "data": name,
        "training_rows": cuts[name].train.frame.height,
        "held_out_rows": len(own),
        "by_counting_alone": predictor.trained.config.answers_by_counting,
        "scores": found,
    }


def _scores(predictor: Predictor, cut: Cut, calibrating: Texts) -> dict[str, Scores]:
    """Return the scores by name. A higher one means that a text is less like the training rows."""
    seen = predictor.trained.seen
    assert seen is not None
    frame = cut.train.frame
    words = {word for text in frame["text"] for word in words_of(text)}
    distance = _distance(predictor, frame["text"].to_list(), frame["label"].to_numpy())

    def of_words(texts: Texts) -> np.ndarray:
        return np.array([np.mean([word not in words for word in words_of(text)] or [True]) for text in texts])

    def probability(texts: Texts) -> np.ndarray:
        return 1 - predictor.answer(texts).confidences

    scales = [(of(calibrating).mean(), of(calibrating).std()) for of in (seen.unseen_shares, distance)]

    def both(texts: Texts) -> np.ndarray:
        parts = (seen.unseen_shares(texts), distance(texts))
        total: np.ndarray = sum((part - mean) / std for part, (mean, std) in zip(parts, scales, strict=True))
        return total

    return dict(zip(SCORES, (seen.unseen_shares, of_words, distance, both, probability), strict=True))


def _distance(predictor: Predictor, texts: Texts, labels: np.ndarray) -> Scores:
    """Fit the Mahalanobis distance of the pooled vector to the nearest class mean (Lee et al. 2018, eq. 2).

    The classes share a covariance, which is shrunk (Ledoit & Wolf 2004).
    """
    vectors = pooled_vectors(predictor.trained, texts).astype(np.float64)
    means = np.stack([vectors[labels == label].mean(axis=0) for label in np.unique(labels)])
    around = vectors - means[np.searchsorted(np.unique(labels), labels)]
    covariance, _ = ledoit_wolf(around, assume_centered=True)
    whiten = np.linalg.cholesky(np.linalg.inv(covariance))

    def distance(others: Texts) -> np.ndarray:
        whitened = pooled_vectors(predictor.trained, others) @ whiten
        apart: np.ndarray = np.linalg.norm(whitened[:, None] - (means @ whiten)[None], axis=2)
        return apart.min(axis=1)

    return distance


def _auroc(own: np.ndarray, other: np.ndarray) -> float:
    truth = np.concatenate([np.zeros(len(own)), np.ones(len(other))])
    return float(roc_auc_score(truth, np.concatenate([own, other])))


def _letters(text: str, draw: np.random.Generator) -> str:
    """Shuffle the letters of each word."""
    return re.sub(r"\w+", lambda word: "".join(draw.permutation(list(word[0]))), text)


def _order(text: str, draw: np.random.Generator) -> str:
    """Shuffle the words."""
    return " ".join(draw.permutation(text.split()))


if __name__ == "__main__":
    main()
