"""Load, read and enlarge the models that can learn words: classifiers and language models."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from jaxtyping import Float
from torch import Tensor
from torch.func import functional_call

from glassformer.data.arrays import IntArray
from glassformer.data.batches import Batch
from glassformer.data.json_files import MOST_BYTES, read_bounded
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import UsageError
from glassformer.models.classifier import Classifier, Trunk
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.folder_config import NewWord
from glassformer.prediction.folder_format import format_of
from glassformer.prediction.kept_texts import KeptTexts
from glassformer.prediction.model_folder import (
    CLASSIFIER,
    KINDS,
    LANGUAGE_MODEL,
    TrainedLanguageModel,
    TrainedModel,
    load_model,
)
from glassformer.prediction.nearest import unit_vectors
from glassformer.prediction.scoring import window_means
from glassformer.words.embedding_map import Vectors

Learner = TypeVar("Learner", bound=TrainedModel | TrainedLanguageModel)

EMBEDDINGS = "trunk.embedding.weight"
"""The name of the embedding table in the weights."""
_CARD = "README.md"


def load_learner(folder: Path) -> TrainedModel | TrainedLanguageModel:
    """Read the model folder of a classifier or a language model.

    Raises:
        UsageError: there is no such folder, or its kind of model cannot learn words.
        GlassformerError: the folder is damaged.
    """
    found = KINDS.get(format_of(folder) or "")
    if found is LANGUAGE_MODEL:
        return load_model(folder, LANGUAGE_MODEL)
    if found not in (None, CLASSIFIER):
        raise UsageError(f"{folder} holds a {found.noun}; only classifiers and language models can learn words")
    return load_model(folder, CLASSIFIER)


def read_card(folder: Path) -> str:
    """Read the model card of a folder. If there is no card, return a heading."""
    file = folder / _CARD
    if not file.is_file():
        return "# A glassformer model\n"
    return read_bounded(file, MOST_BYTES, str(file)).decode(errors="replace")


def trunk_of(trained: TrainedModel | TrainedLanguageModel) -> Trunk:
    """Return the trunk of a model that has learned embeddings of words or pieces of words.

    Raises:
        UsageError: the model has no such embeddings, or its design is not our own.
    """
    config, model = trained.config, trained.model
    if not isinstance(model, (Classifier, LanguageModel)):
        raise UsageError(
            f"model.design = {config.model.design!r}: only our own designs, 'classifier' and 'language-model', can "
            "learn words"
        )
    if EMBEDDINGS not in model.state_dict():
        raise UsageError("model.embedding = 'one-hot': a model with one-hot words has no embeddings to learn")
    if config.tokenizer.kind in ("character", "byte"):
        raise UsageError(
            f"tokenizer.kind = {config.tokenizer.kind!r} has no words: the model can read every word already"
        )
    return model.trunk


def enlarged(trained: Learner, tokenizer: TextTokenizer, embeddings: Tensor, added: Sequence[NewWord]) -> Learner:
    """Return the model with the same weights and more embeddings.

    Args:
        embeddings: the old embeddings and those of the new words (vocab, d_model).
    """
    words = (*trained.config.new_words, *added)
    shape: Any = trained.config.model
    if tokenizer.separator_id is not None:
        shape = shape.model_copy(update={"separator": tokenizer.separator_id})
    changed = {"model": shape, "vocab_size": tokenizer.vocab_size, "new_words": words}
    config = trained.config.model_copy(update=changed)
    model = KINDS[config.format].build(config)
    model.load_state_dict(trained.model.state_dict() | {EMBEDDINGS: embeddings})
    changes: dict[str, Any] = {"config": config, "tokenizer": tokenizer, "model": model.eval()}
    larger = dataclasses.replace(trained, **changes)
    return larger if larger.kept is None else dataclasses.replace(larger, kept=_read_again(larger, larger.kept()))


def _read_again(trained: Learner, kept: KeptTexts) -> Callable[[], KeptTexts]:
    """Return the training texts with their vectors by the enlarged model."""
    vectors = unit_vectors(cast("TrainedModel", trained), kept.texts)
    return partial(dataclasses.replace, kept, vectors=vectors)


def context_vectors(
    trunk: Trunk, rows: Sequence[IntArray], embeddings: Float[Tensor, "vocab d_model"], *, max_seq_len: int
) -> Vectors:
    """Return the mean of the last hidden states over each row's tokens, without the start token (rows, d_model).

    A long row is read in several windows, and a token that is in two of them counts twice. An empty row gives zeros.

    Args:
        rows: the token ids of each text.
        embeddings: the table that is used in place of the model's own. It may have more rows.
    """

    def sums(batch: Batch) -> tuple[Tensor, Tensor]:
        token_ids, attention_mask = batch.inputs
        vectors = functional_call(trunk.embedding, {"weight": embeddings}, (token_ids,))
        hidden = trunk.read_vectors(vectors, attention_mask)
        read = attention_mask[:, 1:, None].double()
        return (hidden[:, 1:].double() * read).sum(dim=1), read.sum(dim=1)

    store = TokenStore.in_memory(list(rows))
    return window_means(sums, store, max_seq_len=max_seq_len, width=embeddings.shape[1], precision=np.float64)
