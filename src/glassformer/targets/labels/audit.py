"""How the answers of a model with labels are attacked: by their cross-entropy."""

from __future__ import annotations

import numpy as np

from glassformer.audit.audited_target import AuditedTarget
from glassformer.data.arrays import Array, DoubleArray
from glassformer.targets.labels.target import Labels
from glassformer.targets.labels.training_readers import lessons_of
from glassformer.targets.probabilities import probabilities
from glassformer.training.preparation import Prepared

_LEAST = 1e-12


def label_losses(target: Labels, logits: Array, labels: Array, temperature: float | None = None) -> DoubleArray:
    """Return the cross-entropy of each text in nats: (texts,). With several labels per text, their sum.

    Args:
        labels: class numbers (texts,), or ones and zeros (texts, n_classes).
        temperature: by default that of the model.
    """
    probs = probabilities(logits, temperature=temperature or target.temperature, multilabel=target.multilabel)
    if target.multilabel:
        right = np.where(labels > 0, probs, 1 - probs)
        return -np.log(np.maximum(right, _LEAST)).sum(axis=1)
    return -np.log(np.maximum(probs[np.arange(len(labels)), labels], _LEAST))


def _right(logits: Array, labels: Array) -> float:
    right = (logits.argmax(axis=1) == labels) if labels.ndim == 1 else ((logits >= 0) == (labels > 0)).all(axis=1)
    return float(right.mean())


PART = AuditedTarget(
    truth=lambda config, table: config.label_set.encode(table),
    strata=lambda labels: labels,
    prepared=lambda config, **fields: Prepared(labels=config.label_set, **fields),
    lessons=lessons_of,
    losses=label_losses,
    alone=lambda *_: None,
    right=_right,
)
