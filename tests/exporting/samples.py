"""Small classifiers with random weights, as training and fine-tuning would leave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from glassformer.data.labels import LabelSet
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.models.build import AnyModelConfig, build_model
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel, save_model
from glassformer.targets.labels.target import labels_target
from glassformer.training.initial_weights import read_initial_weights, start_from
from tests.checkpoints import CORPUS, write_checkpoint
from tests.support import randomise

LABELS = ("bad", "fine", "good")
SMALL = ModelConfig(d_model=16, n_layers=2, n_heads=2, d_ff=12, max_seq_len=48)
TEXTS = [
    "the plot is thin but i loved it", "", " ", "Ça va? naïve CAFÉ, großartig…", "电影很好看 and 漢字",
    "so good 🤷‍♀️ !!!", "a\tb\n\nc    d", "1,234.50 % — “quoted”", "ﬁne ＦＵＬＬ width", "<pad> <unk> <cls> loved",
    "\u200bzero\u0301\x07 width", "flabbergasted, loved",
]  # fmt: skip


def from_scratch(
    config: ModelConfig = SMALL, *, tokenizer: TokenizerConfig | None = None, words: tuple[str, ...] = (), **around: Any
) -> TrainedModel:
    """A model of our own, with a vocabulary learned from a few sentences, and new words."""
    settings = tokenizer or TokenizerConfig(min_frequency=1)
    learned = TextTokenizer.train(CORPUS, settings)
    learned = learned.with_words(words) if words else learned
    labels = around.pop("labels", LABELS)
    torch.manual_seed(5)
    model = randomise(build_model(config, learned.vocab_size, len(labels)), std=0.3).eval()
    return TrainedModel(
        config=folder_config(config, settings, learned.vocab_size, labels=labels, **around),
        model=model,
        tokenizer=learned,
        metrics={},
    )


def fine_tuned(folder: Path, family: str, settings: dict[str, Any], **around: Any) -> TrainedModel:
    """A checkpoint of a family, read by `init='hf:…'`, whose head is there too."""
    write_checkpoint(folder, family, labels=LABELS, **settings)
    initial = read_initial_weights(f"hf:{folder}")
    model = build_model(initial.model, initial.tokenizer.vocab_size, len(LABELS))
    start_from(model, initial.model, initial, LabelSet(names=LABELS))
    config = folder_config(initial.model, initial.tokenizer_config, initial.tokenizer.vocab_size, **around)
    return TrainedModel(config=config, model=model.eval(), tokenizer=initial.tokenizer, metrics={})


def folder_config(model: AnyModelConfig, tokenizer: TokenizerConfig, vocab_size: int, **around: Any) -> FolderConfig:
    labels, multilabel = around.pop("labels", LABELS), around.pop("multilabel", False)
    fields: dict[str, Any] = {
        "target": labels_target(labels, multilabel=multilabel, temperature=around.pop("temperature", 1.7)),
        "data": {"source": "reviews.csv"},
        "recipe": {},
        "versions": {"glassformer": "0"},
        "created": "2026-01-02T03:04:05+00:00",
        "training_seconds": 1.5,
    }
    return FolderConfig(model=model, tokenizer=tokenizer, vocab_size=vocab_size, **(fields | around))


def saved(folder: Path, trained: TrainedModel) -> Path:
    save_model(folder, trained, card="")
    return folder
