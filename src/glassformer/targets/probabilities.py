"""Turn logits into calibrated probabilities. With NumPy alone."""

from __future__ import annotations

import numpy as np

from glassformer.data.arrays import Array, DoubleArray, FloatArray
from glassformer.errors import GlassformerError

THRESHOLD = 0.5
"""With several labels per text, a text gets the labels of at least this probability."""
TEMPERATURE_BOUNDS = (0.05, 20.0)


def probabilities(logits: Array, *, temperature: float = 1.0, multilabel: bool) -> DoubleArray:
    """Return the probabilities (texts, n_classes) of logits / temperature, by softmax or by one sigmoid per label.

    Raises:
        GlassformerError: a logit is NaN or infinite.
    """
    if not np.isfinite(logits).all():
        raise GlassformerError("the model gives NaN or infinite logits: its weights are damaged, or training diverged")
    scaled = logits.astype(np.float64) / temperature
    if multilabel:
        sigmoid: DoubleArray = np.exp(-np.logaddexp(0, -scaled))
        return sigmoid
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True, initial=-np.inf))
    softmax: DoubleArray = powers / powers.sum(axis=1, keepdims=True)
    return softmax


def confidences_of(probs: FloatArray, *, multilabel: bool) -> FloatArray:
    """Return the probability of each predicted label (texts,). With `multilabel`: of the least certain decision."""
    if multilabel:
        least: FloatArray = np.maximum(probs, 1 - probs).min(axis=1)
        return least
    top: FloatArray = probs.max(axis=1)
    return top
