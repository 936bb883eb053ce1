"""Benches: small models that are about to learn from small data, and tables to be checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from glassformer.data.store import TokenStore
from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from glassformer.training.classification import TrainingData
from glassformer.training.training_config import TrainingConfig

VOCAB_SIZE, N_CLASSES, WINDOW = 37, 3, 22
MODEL = ModelConfig(d_model=16, n_layers=1, n_heads=2, d_ff=24, max_seq_len=WINDOW, dropout=0.1)
DEEPER = MODEL.model_copy(update={"n_layers": 2})


def easy_data(
    n_rows: int = 90, *, multilabel: bool = False, weights: Any = None, shuffled: bool = False
) -> TrainingData:
    """Texts of 2 to 19 tokens, every other one of which tells the class; `shuffled` labels tell nothing."""
    rng = np.random.default_rng(11)
    labels = np.arange(n_rows) % N_CLASSES
    texts = [rng.integers(8, VOCAB_SIZE, rng.integers(2, 20)) for _ in range(n_rows)]
    for text, label in zip(texts, labels, strict=True):
        text[::2] = 3 + label
    if shuffled:
        labels = rng.permutation(labels)
    if multilabel:
        labels = (labels[:, None] == np.arange(N_CLASSES)).astype(np.uint8)
        labels[::4] = 0
    return TrainingData(
        train=TokenStore.in_memory(texts),
        train_labels=labels,
        validation=None,
        validation_labels=None,
        class_weights=torch.ones(N_CLASSES) if weights is None else torch.tensor(weights),
        multilabel=multilabel,
    )


def bench(
    config: ModelConfig = MODEL, *, data: TrainingData | None = None, model: nn.Module | None = None, **training: Any
) -> Bench:
    """A bench of a new model, always of the same weights."""
    torch.manual_seed(3)
    settings = {"batch_size": 15, "optimizer": "adamw", "learning_rate": 3e-3} | training
    return Bench(
        model=model or Classifier(config, VOCAB_SIZE, N_CLASSES),
        data=data or easy_data(),
        config=TrainingConfig.model_validate(settings),
        max_seq_len=WINDOW,
    )


def scaled(model: nn.Module, factor: float) -> nn.Module:
    """Every linear layer's weights drawn anew, `factor` times too large."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=factor * module.in_features**-0.5)
    return model


def by_check(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def problems(findings: list[Finding]) -> set[str]:
    return {finding.check for finding in findings if finding.level == "problem"}
