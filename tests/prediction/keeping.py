"""Models that keep their training texts."""

import dataclasses
from functools import partial
from typing import Any

from glassformer.prediction.kept_texts import KeptTexts
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.nearest import unit_vectors
from glassformer.targets.labels.target import labels_of
from tests.prediction.samples import WORDS

TEXTS = (
    "the plot is thin",
    "i loved it",
    "but i would not see it again",
    "i loved it ",  # a copy
    "i loved it",  # with another label
    " ".join(WORDS * 2),  # longer than a window
)
LABELS = (0, 2, 0, 2, 1, 1)


def keeping(trained: TrainedModel, texts: tuple[str, ...] = TEXTS, labels: Any = LABELS) -> TrainedModel:
    """The model with these training texts, from row 10 on, and labels of these numbers."""
    known = labels_of(trained.config.target).labels
    kept = partial(
        KeptTexts,
        rows=tuple(range(10, 10 + len(texts))),
        texts=texts,
        labels=tuple([known[n] for n in label] if isinstance(label, tuple) else known[label] for label in labels),
        vectors=unit_vectors(trained, texts),
    )
    data = trained.config.data | {"rows": len(texts)}
    return dataclasses.replace(trained, kept=kept, config=trained.config.model_copy(update={"data": data}))
