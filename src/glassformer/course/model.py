"""The texts of the course, and its model: so small that a page shows all of its numbers, and trained in seconds."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

from glassformer.estimators.text_classifier import TextClassifier
from glassformer.prediction.predictor import Predictor

SUBJECTS = ("acting", "plot", "music", "ending")
PRAISE = ("good", "warm", "clever", "fresh")
BLAME = ("bad", "dull", "silly", "stale")
_SEED = 1
N_TRAIN = 1_000
"""The first rows of `opinions` train the model. The others measure it."""
FOLDER = Path("course-model")
SETTINGS: dict[str, Any] = {
    "model.d_model": 16,
    "model.n_layers": 1,
    "model.n_heads": 2,
    "model.d_ff": 32,
    "model.max_seq_len": 16,
    "model.positions": "learned",
    "model.attention": "causal",
    "model.norm": "layer",
    "model.feed_forward": "relu",
    "model.pooling": "last",
    "model.dropout": 0.0,
    "model.counting": "none",
    "training.epochs": 3,
    "training.min_steps_per_epoch": 100,
    "training.learning_rate": 1e-2,
    "training.token_dropout": 0.0,
    "training.precision": "float32",
}


def opinions() -> tuple[list[str], list[str]]:
    """Return 1,600 texts and their labels, in a random order that is always the same.

    A clause is "the plot is dull" or "the plot is not dull". A text is one clause, or two of opposite opinion with
    "but" between them: "the plot is dull but the music is not bad". Two rules give the label: "not" turns a clause
    round, and the last clause decides. For each text with "but" there is one with the same words and the opposite
    label, so counting words cannot find the label.
    """
    clauses = {
        f"the {subject} is {word}{adjective}": (adjective in PRAISE) != bool(word)
        for subject, word, adjective in product(SUBJECTS, ("", "not "), PRAISE + BLAME)
    }
    found = list(clauses.items())
    for (first, before), (last, positive) in product(clauses.items(), repeat=2):
        if before != positive and first.split()[1] != last.split()[1]:
            found.append((f"{first} but {last}", positive))
    random.Random(_SEED).shuffle(found)
    return [text for text, _ in found], ["positive" if positive else "negative" for _, positive in found]


def small_model(folder: Path | str = FOLDER) -> Predictor:
    """Return the model of the course. If it is not in the folder yet, train it there, in a few seconds.

    Raises:
        GlassformerError: the folder holds no model, or a damaged one.
    """
    folder = Path(folder)
    if not folder.exists():
        print(f"Training a small model in {folder}: a few seconds …")
        texts, labels = opinions()
        TextClassifier(settings=SETTINGS).fit(texts[:N_TRAIN], labels[:N_TRAIN]).save(folder)
    return Predictor.load(folder)
