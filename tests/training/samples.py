"""Small data, models and recipes, and an observer that remembers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from glassformer.data.splits import ValidationConfig
from glassformer.data.store import TokenStore
from glassformer.data.table import Table
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from glassformer.training.classification import Classification, TrainingData
from glassformer.training.loop import StepReport, Trainer
from glassformer.training.recipe import Recipe
from glassformer.training.training_config import TrainingConfig
from tests.support import randomise

SMALL = ModelConfig(d_model=16, n_layers=1, n_heads=2, d_ff=24, max_seq_len=24, dropout=0.1)
STILL = SMALL.model_copy(update={"dropout": 0.0})
"""Without anything random in it."""
VOCAB_SIZE, N_CLASSES = 29, 3


class Memory:
    """An observer that remembers, and may do something after each step (told its number) and each epoch."""

    def __init__(
        self, after_step: Callable[[int], None] | None = None, after_epoch: Callable[[], None] | None = None
    ) -> None:
        self.steps: list[StepReport] = []
        self.epochs: list[dict[str, float]] = []
        self.messages: list[str] = []
        self._after_step, self._after_epoch = after_step, after_epoch

    def on_step(self, report: StepReport) -> None:
        self.steps.append(report)
        if self._after_step:
            self._after_step(len(self.steps))

    def on_epoch(self, row: dict[str, float]) -> None:
        self.epochs.append(row)
        if self._after_epoch:
            self._after_epoch()

    def on_message(self, text: str) -> None:
        self.messages.append(text)


def config(**values: Any) -> TrainingConfig:
    """Short runs in float32 of steps of ten texts."""
    defaults: dict[str, Any] = {
        "epochs": 2,
        "batch_size": 10,
        "min_steps_per_epoch": 1,
        "optimizer": "adamw",
        "learning_rate": 1e-3,
        "precision": "float32",
    }
    return TrainingConfig.model_validate(defaults | values)


def toy_data(
    n_rows: int = 47, *, n_validation: int = 11, multilabel: bool = False, wrong_validation: bool = False
) -> TrainingData:
    """Texts of 1 to 40 tokens, some longer than the window; the first token of each row tells its class."""
    rng = np.random.default_rng(5)

    def rows(n: int, shift: int) -> tuple[TokenStore, np.ndarray[Any, Any]]:
        labels = np.arange(n) % N_CLASSES
        texts = [rng.integers(8, VOCAB_SIZE, rng.integers(1, 41)) for _ in range(n)]
        for text, label in zip(texts, labels, strict=True):
            text[::2] = 3 + label
        labels = (labels + shift) % N_CLASSES
        return TokenStore.in_memory(texts), np.eye(N_CLASSES, dtype=np.uint8)[labels] if multilabel else labels

    train, train_labels = rows(n_rows, 0)
    validation, validation_labels = rows(n_validation, 1 if wrong_validation else 0) if n_validation else (None, None)
    return TrainingData(
        train=train,
        train_labels=train_labels,
        validation=validation,
        validation_labels=validation_labels,
        class_weights=torch.ones(N_CLASSES),
        multilabel=multilabel,
    )


def trainer(
    training: TrainingConfig,
    *,
    data: TrainingData | None = None,
    model: ModelConfig = SMALL,
    randomised: bool = False,
    checkpoint: Path | None = None,
    observer: Memory | None = None,
) -> Trainer[Any]:
    """A trainer of a new model, always of the same weights; `randomised`: none of them zero, so no gradient is tiny."""
    torch.manual_seed(training.seed)
    classifier = Classifier(model, VOCAB_SIZE, N_CLASSES)
    return Trainer(
        randomise(classifier, std=0.2) if randomised else classifier,
        Classification(data or toy_data(), training, max_seq_len=model.max_seq_len),
        training,
        checkpoint=checkpoint,
        observer=observer,
    )


def opinions(n_rows: int = 60, *, source: str = "reviews.csv", first: int = 0) -> Table:
    """Texts that say what they think, no two alike, with two labels in turn."""
    words = {"bad": ["awful", "boring", "poor"], "good": ["lovely", "gripping", "fine"]}
    labels = [("bad", "good")[number % 2] for number in range(n_rows)]
    texts = [
        f"the {('plot', 'cast', 'end')[number % 3]} of film {first + number} was {words[label][number // 2 % 3]}"
        for number, label in enumerate(labels)
    ]
    return table(texts, labels, source=source)


def table(texts: list[str], labels: list[Any], *, source: str = "reviews.csv") -> Table:
    frame = pl.DataFrame({"text": texts, "label": labels}).with_row_index("row", offset=1)
    multilabel = bool(labels) and isinstance(labels[0], list)
    return Table(frame=frame, source=source, text_column="review", label_column="stars", multilabel=multilabel)


def recipe(**training: Any) -> Recipe:
    return Recipe(validation=ValidationConfig(fraction=0.2, min_rows=0), model=SMALL, training=config(**training))
