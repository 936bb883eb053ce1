"""A small model with random weights, as a run would leave it."""

from typing import Any

import torch

from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.target import labels_target
from tests.support import randomise

SMALL = ModelConfig(d_model=16, n_layers=1, n_heads=2, d_ff=24, max_seq_len=24)
WORDS = [
    "the",
    "plot",
    "is",
    "thin",
    "but",
    "i",
    "loved",
    "it",
    "and",
    "would",
    "not",
    "see",
    "it",
    "again",
    "at",
    "all",
]


def small_trained_model(
    *,
    labels: tuple[Any, ...] = ("bad", "fine", "good"),
    multilabel: bool = False,
    levels: str | None = None,
    temperature: float = 1.0,
    model: ModelConfig = SMALL,
    seed: int = 1,
) -> TrainedModel:
    torch.manual_seed(seed)
    tokenizer_config = TokenizerConfig(min_frequency=1)
    tokenizer = TextTokenizer.train([" ".join(WORDS)], tokenizer_config)
    config = FolderConfig(
        model=model,
        vocab_size=tokenizer.vocab_size,
        tokenizer=tokenizer_config,
        target=labels_target(labels, multilabel=multilabel, levels=levels, temperature=temperature),
        data={"source": "reviews.csv"},
        recipe={},
        versions={"glassformer": "0"},
        created="2026-01-02T03:04:05+00:00",
        training_seconds=1.5,
    )
    classifier = randomise(Classifier(model, tokenizer.vocab_size, len(labels))).eval()
    return TrainedModel(config=config, model=classifier, tokenizer=tokenizer, metrics={"best_epoch": 3})
