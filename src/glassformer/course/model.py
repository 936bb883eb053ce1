"""The model of the course: so small that a page shows all of its numbers, and trained in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glassformer.course.grammar import opinions
from glassformer.estimators.text_classifier import TextClassifier
from glassformer.prediction.predictor import Predictor

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
