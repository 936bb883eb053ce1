"""What a student learns of labels: the probabilities of its teacher (Hinton et al. 2015)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.labels import LabelSet
from glassformer.data.table import Table
from glassformer.data.wording import share_in_percent
from glassformer.prediction.calibration import fit_temperature
from glassformer.prediction.scoring import score
from glassformer.targets.costs import CostRow
from glassformer.targets.labels.target import labels_of
from glassformer.targets.probabilities import probabilities
from glassformer.training.classification import Classification, TrainingData, right_answers
from glassformer.training.distil import Known, PreparedStudent
from glassformer.training.objectives import distillation
from glassformer.training.task import Cost, Examples
from glassformer.training.training_config import TrainingConfig


class LabelStudent(PreparedStudent):
    """The run of a student that learns the calibrated logits of its teacher."""

    @classmethod
    def check_labelled(cls, table: Table, labels: LabelSet) -> None:
        labels.encode(table)

    @classmethod
    def measured(cls, best: Mapping[str, float], teacher: str) -> str:
        known = (
            f", accuracy {best['validation_accuracy']:.4f} on those with a label"
            if "validation_accuracy" in best
            else ""
        )
        agreement = share_in_percent(best["validation_agreement"])
        return f"gives the answer of {teacher} to {agreement} of the held-out texts{known}"

    @property
    def held_out_labels(self) -> Array | None:
        """The teacher's probabilities for the validation texts. Where a label is known, it is certain."""
        if self.validation_labels is None:
            return None
        multilabel = self.labels.multilabel
        probs = probabilities(self.validation_labels, multilabel=multilabel)
        if self.known is not None:
            labels = self.known.labels
            probs[self.known.rows] = labels if multilabel else np.eye(probs.shape[1])[labels]
        return probs

    @property
    def known_labels(self) -> Array | None:
        if self.known is None or self.validation_labels is None or len(self.known.rows) < len(self.validation_labels):
            return None
        return self.known.labels[np.argsort(self.known.rows)]

    @property
    def label_values(self) -> tuple[Any, ...]:
        return labels_of(self.teacher.answering.trained.config.target).labels

    @property
    def costs(self) -> tuple[CostRow, ...]:
        return labels_of(self.teacher.answering.trained.config.target).costs

    def task(self, beside: Sequence[FloatArray] = ()) -> Distillation:  # noqa: ARG002 (a student has no other readers)
        return Distillation(
            self.data,
            self.training,
            max_seq_len=self.recipe.model.max_seq_len,
            temperature=self.temperature,
            known=self.known,
        )


class Distillation(Classification):
    """Texts with the logits of a teacher in the place of labels: (rows, n_classes), in `train_labels` and so on."""

    def __init__(
        self, data: TrainingData, config: TrainingConfig, *, max_seq_len: int, temperature: float, known: Known | None
    ) -> None:
        """Take the data of a run.

        Args:
            temperature: divides the logits of both models in the loss of training.
            known: labels to measure the accuracy by. Nothing is learned from them.
        """
        super().__init__(data, config, max_seq_len=max_seq_len)
        self.temperature, self.known = temperature, known

    def weight(self, examples: Examples) -> float:
        return float(len(examples.labels))

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        inputs = examples.inputs._replace(token_ids=self._drop_tokens(examples.inputs.token_ids))
        losses = distillation(
            model(*inputs).float(),
            examples.labels,
            temperature=self.temperature,
            multilabel=self.data.multilabel,
        )
        return Cost(losses.sum())

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return the loss at a temperature of 1, the same after calibration, and the share of the teacher's answers.

        If labels are known, return the accuracy on these texts too. Without validation texts, return nothing.
        """
        store, answers = self.data.validation, self.data.validation_labels
        if store is None or answers is None:
            return {}
        n_classes, multilabel = answers.shape[1], self.data.multilabel
        logits = torch.from_numpy(score(model, store, max_seq_len=self.max_seq_len, n_classes=n_classes))
        teacher = torch.from_numpy(answers)
        losses = distillation(logits, teacher, temperature=1.0, multilabel=multilabel)
        given = (teacher >= 0) if multilabel else teacher.argmax(dim=1)
        found = {
            "validation_loss": float(losses.mean()),
            "validation_agreement": float(right_answers(logits, given).float().mean()),
        }
        if self.config.best_epoch_by == "calibrated-loss" and math.isfinite(found["validation_loss"]):
            own = fit_temperature(logits.numpy(), probabilities(answers, multilabel=multilabel), multilabel=multilabel)
            calibrated = distillation(logits / own, teacher, temperature=1.0, multilabel=multilabel)
            found["calibrated_loss"] = float(calibrated.mean())
        if self.known is not None:
            labels = torch.from_numpy(self.known.labels.copy())  # a copy, as it may be read-only
            right = right_answers(logits[torch.from_numpy(self.known.rows)], labels)
            found["validation_accuracy"] = float(right.float().mean())
        return found


PART = LabelStudent
