"""The loss of labels that readers learn by. PyTorch is imported when it is first asked: counting alone needs none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from glassformer.data.arrays import Array, FloatArray

if TYPE_CHECKING:
    from torch import Tensor


def label_loss(scores: Tensor, truth: Tensor) -> Tensor:
    """Return the loss of each row (rows,): the cross entropy, or the mean of the two-way ones of several labels.

    Args:
        scores: (rows, n_classes) logits.
        truth: (rows,) class numbers, or ones and zeros (rows, n_classes) for several labels per text.
    """
    import torch.nn.functional as F

    if truth.ndim == 2:
        return F.binary_cross_entropy_with_logits(scores, truth.to(scores.dtype), reduction="none").mean(dim=1)
    return F.cross_entropy(scores, truth, reduction="none")


def weighted_loss(
    loss: Callable[[Tensor, Tensor], Tensor], scores: FloatArray, truth: Array, weights: FloatArray
) -> tuple[float, Array]:
    """Return Σ weight · loss of rows, and its gradient by their scores (rows, width).

    Args:
        weights: (rows,)
    """
    import torch

    given = torch.from_numpy(scores).requires_grad_()
    total = torch.from_numpy(weights) @ loss(given, torch.from_numpy(truth))
    return total.item(), torch.autograd.grad(total, given)[0].numpy()
