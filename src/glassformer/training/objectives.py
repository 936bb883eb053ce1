"""Losses: one number per text, so that any grouping into micro-batches gives the same sum."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Num
from torch import Tensor

from glassformer.errors import UsageError
from glassformer.training.config import TrainingConfig


def cross_entropy(
    logits: Float[Tensor, "batch n_classes"],
    labels: Num[Tensor, " batch"],
    *,
    class_weights: Float[Tensor, " n_classes"],
    label_smoothing: float,
) -> Float[Tensor, " batch"]:
    """−w_y · Σ_c q_c log softmax(logits)_c, where q mixes 1 − ε of the true class with ε of all classes alike.

    Label smoothing ε: Szegedy et al. 2016, §7.
    """
    losses = F.cross_entropy(logits, labels, label_smoothing=label_smoothing, reduction="none")
    return losses * class_weights[labels]


def binary_cross_entropy(
    logits: Float[Tensor, "batch n_classes"],
    labels: Num[Tensor, "batch n_classes"],
    *,
    class_weights: Float[Tensor, " n_classes"],
    label_smoothing: float,
) -> Float[Tensor, " batch"]:
    """Mean over labels of the two-way cross entropy, for texts with any number of labels.

    `class_weights` weigh the texts that carry a label; smoothing moves targets to ε/2 and 1 − ε/2.
    """
    targets = labels.to(logits.dtype) * (1 - label_smoothing) + label_smoothing / 2
    losses = F.binary_cross_entropy_with_logits(logits, targets, pos_weight=class_weights, reduction="none")
    return losses.mean(dim=1)


def class_weights(
    config: TrainingConfig, names: tuple[str, ...], labels: np.ndarray, *, multilabel: bool
) -> Float[Tensor, " n_classes"]:
    """One weight per class.

    `balanced` is rows / (n_classes · rows of the class) (King & Zeng 2001), which leaves the average weight of a row at
    1; with several labels per text it is texts without the label / texts with it.

    Raises:
        UsageError: the recipe's table names a label that the data does not have, or leaves one out.
    """
    if config.class_weights == "none":
        return torch.ones(len(names))
    if config.class_weights == "balanced":
        if multilabel:
            positive = labels.sum(axis=0)
            return torch.from_numpy(np.maximum(len(labels) - positive, 1) / np.maximum(positive, 1)).float()
        counts = np.maximum(np.bincount(labels, minlength=len(names)), 1)
        return torch.from_numpy(len(labels) / (len(names) * counts)).float()
    if set(config.class_weights) != set(names):
        raise UsageError(
            f"training.class_weights names the labels {sorted(config.class_weights)}, but the data has "
            f"{sorted(names)}; give a weight for each label of the data and no other"
        )
    return torch.tensor([config.class_weights[name] for name in names])
