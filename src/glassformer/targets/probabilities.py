"""Turn logits into calibrated probabilities. With NumPy alone."""

import numpy as np

from glassformer.data.arrays import Array, BoolArray, DoubleArray, FloatArray
from glassformer.errors import GlassformerError
from glassformer.targets.costs import Costs

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
        return np.exp(-np.logaddexp(0, -scaled))
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis=1, keepdims=True)


def given_by(probs: Array, *, multilabel: bool, costs: Costs | None = None) -> BoolArray:
    """Return which labels a text gets: (texts, n_classes). Without costs, the most probable ones."""
    if costs is not None:
        return costs.given(probs)
    return probs >= THRESHOLD if multilabel else probs.argmax(axis=1)[:, None] == np.arange(probs.shape[1])


def one_hot(labels: Array, n_classes: int) -> BoolArray:
    """Return which labels a text has: (texts, n_classes).

    Args:
        labels: class numbers (texts,), or ones and zeros (texts, n_classes).
    """
    return labels > 0 if labels.ndim == 2 else labels[:, None] == np.arange(n_classes)


def confidences_of(probs: FloatArray, *, multilabel: bool, costs: Costs | None = None) -> FloatArray:
    """Return the probability of each predicted label (texts,). With `multilabel`: of the least certain decision."""
    if costs is not None:
        given = costs.given(probs)
        return np.where(given, probs, 1 - probs).min(axis=1) if multilabel else (probs * given).sum(axis=1)
    if multilabel:
        return np.maximum(probs, 1 - probs).min(axis=1)
    return probs.max(axis=1)
