"""The model folder of a language model (see `folder`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from glassformer.data.tokenizers import TextTokenizer
from glassformer.models.build import AnyLanguageModelConfig, build_language_model
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.folder import AnyFolderConfig, FolderContents, read_folder, write_folder


class LanguageFolderConfig(AnyFolderConfig):
    """`config.json` of a language model."""

    kind: ClassVar[str] = "glassformer-language-model"

    format: str = kind
    model: AnyLanguageModelConfig


@dataclass(frozen=True, kw_only=True)
class TrainedLanguageModel:
    """A language model with everything that it needs to go on with a text."""

    config: LanguageFolderConfig
    model: TokenPredictor
    tokenizer: TextTokenizer
    metrics: dict[str, Any]


def save_language_model(folder: Path, trained: TrainedLanguageModel, *, card: str) -> None:
    """Write a model folder (see `write_folder`)."""
    write_folder(folder, trained.config, FolderContents(trained.model, trained.tokenizer, trained.metrics), card=card)


def load_language_model(folder: Path) -> TrainedLanguageModel:
    """Read a model folder and rebuild its language model, in evaluation mode, on the CPU.

    Raises:
        UsageError: there is no such folder, or it is not the model folder of a language model.
        GlassformerError: a file is missing, cut short, of a later format, or does not fit the others.
    """
    config, contents = read_folder(
        folder,
        LanguageFolderConfig,
        lambda config: build_language_model(config.model, config.vocab_size, n_learned=len(config.new_words)),
    )
    return TrainedLanguageModel(config=config, **contents._asdict())
