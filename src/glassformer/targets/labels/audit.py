"""How the answers of a model with labels are attacked: by their cross-entropy.

`number/audit.py` says the same of a number.
"""

from typing import Any

from glassformer.data.arrays import Array, DoubleArray
from glassformer.data.table import Table
from glassformer.evaluation import metrics
from glassformer.labels.learning_curve import right_rows
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.target import Labels
from glassformer.targets.probabilities import probabilities
from glassformer.training.preparation import Prepared


def truth(config: FolderConfig, table: Table) -> Array:
    """Return the right answers to the rows of a table, as the losses take them."""
    return config.label_set.encode(table)


def strata(labels: Array) -> Array:
    """Return the class of each row (rows,) or (rows, n_classes), of which folds keep the proportions."""
    return labels


def prepared(config: FolderConfig, **fields: Any) -> Prepared:
    """Return a run of training with the given fields."""
    return Prepared(labels=config.label_set, **fields)


def losses(target: Labels, logits: Array, labels: Array, temperature: float | None = None) -> DoubleArray:
    """Return the cross-entropy of each text in nats: (texts,). With several labels per text, their sum.

    Args:
        labels: class numbers (texts,), or ones and zeros (texts, n_classes).
        temperature: by default that of the model.
    """
    probs = probabilities(logits, temperature=temperature or target.temperature, multilabel=target.multilabel)
    return metrics.losses(probs, labels).sum(axis=1)


def right(logits: Array, labels: Array) -> float:
    """Return the share of right answers. For a number it is None."""
    return float(right_rows(logits, labels).mean())


def alone(predictor: Predictor, reader: str, logits: Array) -> None:  # noqa: ARG001
    """Return the scores of a reader as if it answered alone, from those without a weight. None: they are the same."""
    return
