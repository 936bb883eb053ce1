"""The task of a classifier: predict the label of each text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from glassformer.data.arrays import Array, FloatArray, IntArray
from glassformer.data.batches import assemble
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import START_ID, UNKNOWN_ID
from glassformer.data.windows import Windows
from glassformer.prediction.scoring import score
from glassformer.readers.joining import join
from glassformer.training.objectives import objective
from glassformer.training.order import plan_epoch
from glassformer.training.task import Cost, Examples
from glassformer.training.training_config import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """Encoded texts and their labels: class numbers (rows,), or ones and zeros (rows, n_classes) with `multilabel`.

    Attributes:
        train_weights, validation_weights: (rows,) the weight of each row in the loss, which the weight of its class
            multiplies. None if all rows have the same weight.
        separator_id: the token between two texts of a row, which is never dropped. None if a row is one text.
    """

    train: TokenStore
    train_labels: Array
    validation: TokenStore | None
    validation_labels: Array | None
    class_weights: Tensor
    multilabel: bool
    train_weights: FloatArray | None = None
    validation_weights: FloatArray | None = None
    separator_id: int | None = None


class Classification:
    """Labelled texts, in a new order in each epoch, and the loss that the recipe names."""

    unit = "texts"

    def __init__(
        self, data: TrainingData, config: TrainingConfig, *, max_seq_len: int, beside: Sequence[FloatArray] = ()
    ) -> None:
        """Take the data of a run.

        Args:
            beside: the scores (rows, width) of each reader beside the transformer for the validation rows.
        """
        self.data, self.config, self.max_seq_len, self.beside = data, config, max_seq_len, beside
        self.objective = objective(config, multilabel=data.multilabel)

    def steps(self, epoch: int) -> Sequence[Callable[[], list[Examples]]]:
        lengths, classes = self.data.train.lengths, self.data.train_labels
        windows, groups = plan_epoch(lengths, self.config, max_seq_len=self.max_seq_len, epoch=epoch, classes=classes)
        return [partial(self._assemble, windows, group) for group in groups]

    def _assemble(self, windows: Windows, group: list[IntArray]) -> list[Examples]:
        batches = [assemble(self.data.train, windows, chosen) for chosen in group]
        return [Examples(batch.inputs, self._labels(batch.rows)) for batch in batches]

    def _labels(self, rows: IntArray) -> Tensor:
        """Return the labels of rows. If rows have weights, the last column holds them."""
        labels = torch.from_numpy(self.data.train_labels[rows])
        if self.data.train_weights is None:
            return labels
        weights = torch.from_numpy(self.data.train_weights[rows])
        return torch.column_stack([labels.to(weights.dtype), weights])

    def _labels_and_weights(self, together: Tensor) -> tuple[Tensor, Tensor | None]:
        if self.data.train_weights is None:
            return together, None
        labels = together[:, :-1] if self.data.multilabel else together[:, 0].long()
        return labels, together[:, -1]

    def weight(self, examples: Examples) -> float:
        return float(self._weights(*self._labels_and_weights(examples.labels)).sum())

    def count(self, examples: Examples) -> int:
        return len(examples.labels)

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        inputs = examples.inputs._replace(token_ids=self._drop_tokens(examples.inputs.token_ids))
        logits = model(*inputs).float()
        labels, weights = self._labels_and_weights(examples.labels)
        losses = self._losses(logits, labels, weights, self.config.label_smoothing)
        return Cost(losses.sum(), float(right_answers(logits.detach(), labels).sum()))

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return loss and accuracy of the model alone, and the calibrated loss, which includes the other readers.

        Without validation rows, return nothing.
        """
        store, labels = self.data.validation, self.data.validation_labels
        if store is None or labels is None:
            return {}
        logits = score(model, store, max_seq_len=self.max_seq_len, n_classes=len(self.data.class_weights))
        device = next(model.parameters()).device
        truth = torch.from_numpy(labels.copy()).to(device)  # a copy, as it may be read-only
        on_device = torch.from_numpy(logits).to(device)
        rows = self.data.validation_weights
        weights = None if rows is None else torch.from_numpy(rows).to(device)
        losses = self._losses(on_device, truth, weights, label_smoothing=0.0)
        row_weights = self._weights(truth, weights).numpy()
        weight = float(row_weights.sum())
        found = {
            "validation_loss": float(losses.sum()) / weight,
            "validation_accuracy": float(right_answers(on_device, truth).float().mean()),
        }
        if self.config.best_epoch_by == "calibrated-loss" and math.isfinite(found["validation_loss"]):
            joined = join([*self.beside, logits], labels, multilabel=self.data.multilabel, row_weights=row_weights)
            found["calibrated_loss"] = joined.loss / weight
        return found

    def _losses(self, logits: Tensor, labels: Tensor, rows: Tensor | None, label_smoothing: float) -> Tensor:
        weights = self.data.class_weights.to(logits.device)
        losses: Tensor = self.objective(logits, labels, class_weights=weights, label_smoothing=label_smoothing)
        return losses if rows is None else losses * rows

    def _weights(self, labels: Tensor, rows: Tensor | None) -> Tensor:
        """Return the weight of each text in the mean. With several labels per text, class weights are left out."""
        weights = torch.ones(len(labels)) if self.data.multilabel else self.data.class_weights[labels.cpu()]
        return weights if rows is None else weights * rows.cpu()

    def _drop_tokens(self, token_ids: Tensor) -> Tensor:
        """Show some tokens as unknown (word dropout: Iyyer et al. 2015, §3)."""
        if self.config.token_dropout == 0:
            return token_ids
        dropped = torch.rand(token_ids.shape, device=token_ids.device) < self.config.token_dropout
        if self.data.separator_id is not None:
            dropped &= token_ids != self.data.separator_id
        return token_ids.masked_fill(dropped & (token_ids > START_ID), UNKNOWN_ID)


def right_answers(logits: Tensor, labels: Tensor) -> Tensor:
    """Whether the answer for each text is right. With several labels per text, all labels must be right."""
    if labels.ndim == 2:
        return ((logits >= 0) == labels.bool()).all(dim=1)
    return logits.argmax(dim=1) == labels
