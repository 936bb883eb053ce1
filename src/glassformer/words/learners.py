"""The models that can learn words, classifiers and language models: how they are read, enlarged and written."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import build_language_model, build_model
from glassformer.models.classifier import Classifier
from glassformer.models.language_model import LanguageModel
from glassformer.models.trunk import Trunk
from glassformer.prediction.folder import KINDS, format_of
from glassformer.prediction.language_folder import (
    LanguageFolderConfig,
    TrainedLanguageModel,
    load_language_model,
    save_language_model,
)
from glassformer.prediction.model_folder import (
    FolderConfig,
    NewWord,
    TrainedModel,
    load_model_folder,
    save_model_folder,
)

Learner = TypeVar("Learner", bound=TrainedModel | TrainedLanguageModel)

EMBEDDINGS = "embedding.weight"
"""The table of embeddings among the weights."""
_CARD = "README.md"
_NEW_WORDS = "new_words"
_LIST = TypeAdapter(tuple[NewWord, ...])


def load_learner(folder: Path) -> TrainedModel | TrainedLanguageModel:
    """Read the model folder of a classifier or a language model.

    Raises:
        UsageError: there is no such folder, or it is of a model that learns no words.
        GlassformerError: it is damaged.
    """
    found = format_of(folder)
    if found == LanguageFolderConfig.kind:
        return load_language_model(folder)
    if found in KINDS and found != FolderConfig.kind:
        raise UsageError(
            f"{folder} holds a {KINDS[found][0]}; words are learned by classifiers and language models alone"
        )
    return load_model_folder(folder)


def read_card(folder: Path) -> str:
    """The model card of a folder, whoever wrote it; a heading where there is none."""
    file = folder / _CARD
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else "# A glassformer model\n"


def trunk_of(trained: TrainedModel | TrainedLanguageModel) -> Trunk:
    """The model, which has a table of learned embeddings of words or pieces of words.

    Raises:
        UsageError: it has none.
    """
    config, model = trained.config, trained.model
    if not isinstance(model, (Classifier, LanguageModel)):
        raise UsageError(
            f"model.design = {config.model.design!r}: only our own designs, 'classifier' and 'language-model', can "
            "learn words"
        )
    if EMBEDDINGS not in model.state_dict():
        raise UsageError("model.embedding = 'one-hot' has nothing to learn: a word's embedding says nothing about it")
    if config.tokenizer.kind in ("character", "byte"):
        raise UsageError(f"tokenizer.kind = {config.tokenizer.kind!r} has no words to add to: it can spell every word")
    return model


def words_learned(trained: TrainedModel | TrainedLanguageModel) -> tuple[NewWord, ...]:
    """The words that it learned before, in the order of their ids. A language model's are among its `data`.

    Raises:
        GlassformerError: they are not written down as they should be.
    """
    if isinstance(trained, TrainedModel):
        return trained.config.new_words
    try:
        return _LIST.validate_python(trained.config.data.get(_NEW_WORDS, ()))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, ("data", _NEW_WORDS, *first["loc"])))
        raise GlassformerError(f"config.json: {where}: {first['msg']}; the file is damaged") from error


def enlarged(trained: Learner, tokenizer: TextTokenizer, embeddings: Tensor, added: Sequence[NewWord]) -> Learner:
    """The same weights with more embeddings.

    Args:
        tokenizer: with the words.
        embeddings: (vocab, d_model) the old ones and those of the words.
    """
    words = (*words_learned(trained), *added)
    size = {"vocab_size": tokenizer.vocab_size}
    changes: dict[str, Any] = {"tokenizer": tokenizer}
    if isinstance(trained, TrainedModel):
        changes["config"] = trained.config.model_copy(update=size | {_NEW_WORDS: words})
        model: Any = build_model(trained.config.model, tokenizer.vocab_size, trained.n_classes)
    else:
        data = trained.config.data | {_NEW_WORDS: [word.model_dump() for word in words]}
        changes["config"] = trained.config.model_copy(update=size | {"data": data})
        model = build_language_model(trained.config.model, tokenizer.vocab_size)
    with torch.no_grad():
        model.load_state_dict(trained.model.state_dict() | {EMBEDDINGS: embeddings})
    return dataclasses.replace(trained, **changes, model=model.eval())


def save_learner(folder: Path, trained: TrainedModel | TrainedLanguageModel, *, card: str) -> None:
    """Write a model folder of its kind."""
    if isinstance(trained, TrainedModel):
        save_model_folder(folder, trained, card=card)
    else:
        save_language_model(folder, trained, card=card)
