"""Loss functions. They give one number per text, so the sum does not depend on the split into micro-batches."""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Num
from torch import Tensor

from glassformer.errors import UsageError
from glassformer.training.training_config import TrainingConfig


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


def focal(
    logits: Float[Tensor, "batch n_classes"],
    labels: Num[Tensor, " batch"],
    *,
    class_weights: Float[Tensor, " n_classes"],
    label_smoothing: float,
    gamma: float = 2.0,
) -> Float[Tensor, " batch"]:
    """(1 − p_y)^γ times the cross entropy, p = softmax(logits): texts that are answered rightly already count less.

    Focal loss: Lin et al. 2017, eq. 4, with the γ that was best there (§5.1).
    """
    losses = cross_entropy(logits, labels, class_weights=class_weights, label_smoothing=label_smoothing)
    right = torch.exp(-F.cross_entropy(logits, labels, reduction="none"))
    return losses * (1 - right) ** gamma


def binary_cross_entropy_on_probabilities(
    logits: Float[Tensor, "batch n_classes"],
    labels: Num[Tensor, " batch"],
    *,
    class_weights: Float[Tensor, " n_classes"],
    label_smoothing: float,
) -> Float[Tensor, " batch"]:
    """Binary cross entropy *with logits*, given softmax(logits): the sigmoid of a probability. A mistake, kept as such.

    A probability of 1 becomes σ(1) = .73. The loss of a perfect answer is .503, and that of a blind answer .724, so
    little signal is left between them. `bui-dang-columns` trains with this loss. Nothing else should.
    """
    targets = F.one_hot(labels, logits.shape[1]).to(logits.dtype)
    targets = targets * (1 - label_smoothing) + label_smoothing / logits.shape[1]
    losses = F.binary_cross_entropy_with_logits(logits.softmax(-1), targets, reduction="none")
    return losses.mean(dim=1) * class_weights[labels]


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


def distillation(
    logits: Float[Tensor, "batch n_classes"],
    teacher: Float[Tensor, "batch n_classes"],
    *,
    temperature: float,
    multilabel: bool,
) -> Float[Tensor, " batch"]:
    """T² · KL(p ‖ q) of the probabilities p of a teacher and q of a student, p = softmax(teacher / T), q from `logits`.

    T² keeps the gradient of the same size at every temperature T (Hinton et al. 2015, §2). With `multilabel`, it is the
    mean over the labels, each with a probability of its own.
    """
    expected, found = (_log_probs(each / temperature, multilabel=multilabel) for each in (teacher, logits))
    losses = F.kl_div(found, expected, log_target=True, reduction="none").sum(dim=-1) * temperature**2
    return losses.mean(dim=1) if multilabel else losses


def _log_probs(logits: Tensor, *, multilabel: bool) -> Tensor:
    """Return log probabilities (batch, n_classes), or with `multilabel` (batch, n_classes, 2): with and without it."""
    return torch.stack([F.logsigmoid(logits), F.logsigmoid(-logits)], dim=-1) if multilabel else logits.log_softmax(-1)


_LOSSES = {
    "cross-entropy": cross_entropy,
    "focal": focal,
    "bce-on-probabilities": binary_cross_entropy_on_probabilities,
}


def objective(config: TrainingConfig, *, multilabel: bool) -> Callable[..., Float[Tensor, " batch"]]:
    """Return the loss of a run: one sigmoid per label if a text may have several labels, else the recipe's loss."""
    return binary_cross_entropy if multilabel else _LOSSES[config.loss]


def check_one_label(config: TrainingConfig, *, given: str) -> None:
    """Raise `UsageError` if a setting needs one label per text. `given` says what the texts have."""
    for name, usual in (("loss", "cross-entropy"), ("resample", "none")):
        if (value := getattr(config, name)) != usual:
            raise UsageError(
                f"training.{name} = {value!r} is made for one label per text, not for {given}; leave it out"
            )


def class_weights(
    config: TrainingConfig, names: tuple[str, ...], labels: np.ndarray, *, multilabel: bool
) -> Float[Tensor, " n_classes"]:
    """Return one weight per class.

    `balanced` is rows / (n_classes · rows of the class) (King & Zeng 2001). The average weight of a row is then 1. With
    several labels per text, it is texts without the label / texts with it. A class without rows to learn from has the
    weight 1.

    Raises:
        UsageError: the recipe's table names a label that the data does not have, or leaves one out.
    """
    if config.class_weights == "none":
        return torch.ones(len(names))
    if config.class_weights == "balanced":
        if multilabel:
            positive = labels.sum(axis=0)
            return torch.from_numpy(np.maximum(len(labels) - positive, 1) / np.maximum(positive, 1)).float()
        counts = np.bincount(labels, minlength=len(names))
        weights = len(labels) / (len(names) * np.maximum(counts, 1))
        return torch.from_numpy(np.where(counts > 0, weights, 1.0)).float()
    if set(config.class_weights) != set(names):
        raise UsageError(
            f"training.class_weights names the labels {sorted(config.class_weights)}, but the data has "
            f"{sorted(names)}; give a weight for each label of the data and no other"
        )
    return torch.tensor([config.class_weights[name] for name in names])
