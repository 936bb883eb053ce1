"""The task of a model of a number: predict the number of each text. And how the readers add up."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import lsq_linear
from torch import Tensor, nn

from glassformer.data.arrays import Array, FloatArray
from glassformer.prediction.scoring import score
from glassformer.readers.reader import DECIDING, HEAVIEST
from glassformer.readers.rules.saying import NumberSaying
from glassformer.training.classification import Classification
from glassformer.training.task import Cost, Examples
from glassformer.training.training_config import TrainingConfig

_SINGULAR = 1e-9  # readers that answer alike are one
_LEAST_FREEDOM = 1e-3  # of a row whose answer follows its own truth, as with two rows and one reader


@dataclass(frozen=True, kw_only=True)
class JoinedNumbers:
    """The result of `join_numbers`: bias + Σ weight · reader.

    Attributes:
        answers: (rows,)
        fitted: how many rows bias and weights are fitted to.
        error: their summed squared error.
        left_out: (rows,) truth − answer for each row, if bias and weights are fitted without this row.
        without_given: (rows,) the same of answers without what is given.
    """

    bias: float
    weights: tuple[float, ...]
    answers: Array
    fitted: int
    error: float
    left_out: Array
    without_given: Array


def join_numbers(readers: Sequence[Array], truth: Array, given: Array | None = None) -> JoinedNumbers:
    """Find the bias and the weights ≥ 0 with the smallest squared error: stacked regressions (Breiman 1996, §1).

    Args:
        readers: the answers (rows,) of each reader to rows that it has not learned.
        truth: (rows,)
        given: (rows, 1) what is added as it is. Nothing is fitted to the rows that it decides.
    """
    added = np.zeros(len(truth)) if given is None else given[:, 0]
    decided = np.abs(added) >= DECIDING
    columns, target = np.zeros((len(truth), len(readers))), truth.astype(np.float64) - added
    for number, reader in enumerate(readers):
        columns[:, number] = reader
    bias, weights, off = _fitted(columns[~decided], target[~decided])
    answers = np.where(decided, added - NumberSaying.decided, bias + columns @ weights + added)
    left_out = truth - answers
    means, is_free = columns[~decided].mean(axis=0) if len(off) else 0, (weights > 0) & (weights < HEAVIEST)
    free = (columns[~decided] - means)[:, is_free]
    left_out[~decided] = off / np.maximum(1 - _leverages(free), _LEAST_FREEDOM)
    return JoinedNumbers(
        bias=bias,
        weights=tuple(map(float, weights)),
        answers=answers,
        fitted=len(off),
        error=float(np.square(off).sum()),
        left_out=left_out,
        without_given=np.where(decided, truth - bias - columns @ weights, left_out + added),
    )


def _fitted(columns: Array, target: Array) -> tuple[float, Array, Array]:
    """Return the bias, the weights, and what is left of the target."""
    if not len(target):
        return 0.0, np.zeros(columns.shape[1]), target
    means = columns.mean(axis=0)
    found = lsq_linear(columns - means, target - target.mean(), bounds=(0, HEAVIEST)).x if columns.size else []
    weights = np.clip(found, 0, HEAVIEST).round(6)  # the digits beyond differ between machines
    bias = round(float(target.mean() - means @ weights), 6)
    return bias, weights, target - bias - columns @ weights


def _leverages(centred: Array) -> Array:
    """Return how far the truth of each row moves its own fitted answer: the diagonal of the hat matrix.

    A residual divided by 1 − leverage is that of a fit without the row (Allen 1974).

    Args:
        centred: (rows, weights) the readers whose weights are free to move.
    """
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    kept = left[:, singular > _SINGULAR * singular.max(initial=1)]
    return 1 / len(centred) + np.square(kept).sum(axis=1)


def number_losses(answers: Tensor, truth: Tensor, config: TrainingConfig) -> Tensor:
    """Return the loss of each text. Huber's is half the squared error up to 1, then linear (Huber 1964).

    Args:
        answers, truth: standardised numbers, (rows,)
    """
    if config.number_loss == "squared":
        return (answers - truth).square()
    return F.huber_loss(answers, truth, reduction="none")


def mean_loss(scores: FloatArray, truth: Array, config: TrainingConfig) -> float:
    """Return the mean of `number_losses` for scores (rows, 1)."""
    return float(number_losses(torch.from_numpy(scores[:, 0]), torch.from_numpy(truth.copy()), config).mean())


class Regression(Classification):
    """Texts with numbers in the place of labels: (rows,) float32, with a mean near 0 and a deviation near 1."""

    def weight(self, examples: Examples) -> float:
        return float(len(examples.labels))

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        inputs = examples.inputs._replace(token_ids=self._drop_tokens(examples.inputs.token_ids))
        return Cost(number_losses(model(*inputs).float()[:, 0], examples.labels, self.config).sum())

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return the loss of the transformer alone, and the squared error of all readers together, per row.

        Without validation rows, return nothing.
        """
        store, labels = self.data.validation, self.data.validation_labels
        if store is None or labels is None:
            return {}
        answers = score(model, store, max_seq_len=self.max_seq_len, n_classes=1)[:, 0]
        found = {"validation_loss": mean_loss(answers[:, None], labels, self.config)}
        return found | (self.judged(answers, labels) if math.isfinite(found["validation_loss"]) else {})

    def judged(self, answers: FloatArray, truth: Array) -> dict[str, float]:
        """Return more figures of finite answers to the validation rows: (rows,)."""
        if self.config.best_epoch_by != "calibrated-loss":
            return {}
        readers = [*(each[:, 0] for each in self.beside), answers]
        return {"calibrated_loss": join_numbers(readers, truth).error / len(truth)}
