"""What a model folder says about the rows that were held out from training: how they are answered, and which labels
are doubtful."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassformer.data.sources import SourceConfig
from glassformer.labels.doubts import doubtful
from glassformer.labels.findings import knows_little
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.answers import Answers
from glassformer.prediction.held_out_answers import HeldOutAnswers
from glassformer.prediction.label_doubts import DoubtedLabel, LabelDoubts
from glassformer.prediction.probabilities import probabilities
from glassformer.prediction.scoring import FloatArray
from glassformer.training.preparation import Prepared
from glassformer.training.readers import LearnedCounting

MOST_LISTED = 20


def held_out_figures(
    prepared: Prepared,
    source: SourceConfig | None,
    readers: Readers | None,
    temperature: float,
    counting: LearnedCounting | None,
    transformer: FloatArray | None,
    unseen: FloatArray | None,
    threshold: float | None,
) -> dict[str, Any]:
    """Return the entries of `metrics.json` about held-out rows. They are empty if nothing is held out.

    Args:
        transformer: its logits (rows, n_classes) for the held-out rows. None if it was not trained.
        unseen, threshold: see `HeldOutAnswers.of`.
    """
    total = transformer
    if readers is not None and counting is not None:
        total = readers.counting.weight * counting.held_out
        total = total if transformer is None else total + readers.transformer.weight * transformer
    if total is None:
        return {}
    labels = prepared.labels
    probs = probabilities(total, temperature=temperature, multilabel=labels.multilabel).astype(np.float32)
    answers = Answers(
        labels=labels.names,
        multilabel=labels.multilabel,
        probs=probs,
        empty=np.zeros(len(probs), np.bool_),
        readers={},
    )
    truth = prepared.known_labels if counting is None else counting.labels
    found = HeldOutAnswers.of(answers, unseen, threshold=threshold, labels=truth)
    figures = {"held_out_answers": found.model_dump()}
    if doubts := _label_doubts(prepared, source, counting, probs, truth):
        figures["label_doubts"] = doubts.model_dump(mode="json")
    return figures


def _label_doubts(
    prepared: Prepared,
    source: SourceConfig | None,
    counting: LearnedCounting | None,
    probs: FloatArray,
    labels: np.ndarray[Any, Any] | None,
) -> LabelDoubts | None:
    """Compare the labels of the held-out rows with the answers to them, by confident learning (see `doubtful`).

    Returns:
        None if the rows have several labels, or none of their own (those of a student are its teacher's), if rows were
        added (their numbers are those of several tables), or if the model is hardly better than always the most
        frequent label: then its doubts say little.
    """
    several = labels is None or prepared.labels.multilabel
    if several or labels is None or "teacher" in prepared.record or (source is not None and source.added):
        return None
    most_frequent = float(np.bincount(labels).max() / len(labels))
    if knows_little(float((probs.argmax(axis=1) == labels).mean()), most_frequent):
        return None
    table = prepared.splits.validation or prepared.splits.train
    numbers = table.frame["row"].to_numpy()
    if prepared.splits.validation is None and counting is not None:
        numbers = numbers[np.concatenate([fold.held_out for fold in counting.folds])]
    found, names = doubtful(probs, labels), prepared.labels.names
    listed = [
        DoubtedLabel(
            row=int(numbers[at]),
            label=names[labels[at]],
            suggested=names[suggested],
            probability=round(float(probs[at, suggested]), 6),
        )
        for at, suggested in zip(found.rows[:MOST_LISTED], found.suggested, strict=False)
    ]
    return LabelDoubts(source=table.source, rows=len(labels), doubtful=len(found.rows), listed=tuple(listed))
