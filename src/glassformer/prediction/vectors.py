"""The vectors that a transformer makes of whole texts, before its head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.data.arrays import FloatArray
from glassformer.data.batches import ModelInputs
from glassformer.data.store import TokenStore
from glassformer.models.listening import listening, taps_of
from glassformer.prediction.kept_texts import HalfArray
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.scoring import logits_of, score

POOLED = "pooled"


def has_pooled(model: nn.Module) -> bool:
    """Whether the model turns a text into one vector. The published designs do not."""
    return POOLED in taps_of(model)


def pooled_vectors(trained: TrainedModel, texts: Sequence[str]) -> FloatArray:
    """Return the pooled vector of each text, in float32: (texts, width). A text of several windows gets their mean.

    Raises:
        ValueError: the model has no such vectors.
    """
    read = logits_of(trained.model)

    def pooled(inputs: ModelInputs) -> Tensor:
        with listening(trained.model, [POOLED]) as heard:
            read(inputs)
        return heard[POOLED]

    with torch.inference_mode():
        width = pooled(ModelInputs(torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.bool))).shape[1]
    store = TokenStore.in_memory(trained.tokenizer.encode(texts))
    return score(pooled, store, max_seq_len=trained.config.model.max_seq_len, n_classes=width)


def unit_vectors(trained: TrainedModel, texts: Sequence[str]) -> HalfArray | None:
    """Return the pooled vector of each text, divided by its length: (texts, width). A vector of zeros stays as it is.

    None if the transformer takes no part in the answers.

    Raises:
        ValueError: the model has no such vectors.
    """
    if trained.config.transformer_is_silent:
        return None
    vectors = pooled_vectors(trained, texts)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float16)
