"""Keep the training texts of a model, so that those nearest to a text can be shown later."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from glassformer.prediction.kept_texts import KeptTexts
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.vectors import unit_vectors
from glassformer.training.preparation import Prepared


def with_training_texts(trained: TrainedModel, prepared: Prepared) -> TrainedModel:
    """Return the model with its training texts, their labels and vectors. Validation rows are not among them."""
    frame = prepared.splits.train.frame
    texts = tuple(frame["text"])
    trained.model.to(prepared.device)
    vectors = unit_vectors(trained, texts)
    trained.model.cpu()
    kept = partial(
        KeptTexts,
        rows=tuple(frame["row"]),
        texts=texts,
        labels=tuple(frame["label"].to_list()),
        vectors=vectors,
    )
    return replace(trained, kept=kept)
