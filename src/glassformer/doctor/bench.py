"""The bench: the model as training would start with it, its batches, and a way to take a few steps.

These steps are simpler than those of a run: they use float32, and no token dropout or label smoothing.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import torch
from torch import Tensor, nn

from glassformer.data.batches import Batch, assemble
from glassformer.data.labels import LabelSet
from glassformer.data.sources import Sources
from glassformer.data.table import Table
from glassformer.doctor.findings import Finding
from glassformer.doctor.texts import check_labels, check_spellings, check_stand_ins
from glassformer.models.memory import keep_large_buffers
from glassformer.training.classification import TrainingData
from glassformer.training.objectives import objective
from glassformer.training.optimizers import build_optimizers, freeze, set_learning_rate
from glassformer.training.order import one_pass, plan_epoch, windows_of
from glassformer.training.preparation import Prepared
from glassformer.training.training_config import TrainingConfig

_FEWEST_STEPS = 20  # taken even if the time is up, because fewer steps show nothing


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What a check of the model needs. Each check works on a copy of `model` and leaves the original unchanged.

    Attributes:
        data: the encoded training texts, or a sample if there are very many.
    """

    target: ClassVar[str] = "label"

    model: nn.Module
    data: TrainingData
    config: TrainingConfig
    max_seq_len: int
    from_weights: bool = False

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def copy_of_model(self, *, dropout: bool = True) -> nn.Module:
        """Return a copy of the model in training mode. Without dropout its loss depends only on weights and texts."""
        model = copy.deepcopy(self.model).train()
        freeze(model, self.config.freeze)
        return model if dropout else without_dropout(model)

    def groups(self, *, first_epoch: int = 0) -> Iterator[list[Batch]]:
        """Yield the batches of each step, epoch after epoch without end. They are the batches of the run itself."""
        lengths, classes, window = self.data.train.lengths, self.data.train_labels, self.max_seq_len
        for epoch in count(first_epoch):
            windows, groups = plan_epoch(lengths, self.config, max_seq_len=window, epoch=epoch, classes=classes)
            for group in groups:
                yield [assemble(self.data.train, windows, chosen) for chosen in group]

    @property
    def steps_per_pass(self) -> int:
        """The number of steps in which each text is seen once."""
        lengths, classes = self.data.train.lengths, self.data.train_labels
        windows = windows_of(lengths, self.config, max_seq_len=self.max_seq_len, epoch=0, classes=classes)
        return len(one_pass(windows, self.config, 0))

    def sample(self, number: int) -> list[Batch]:
        """Return the first batches of an epoch that `groups` does not reach."""
        batches: list[Batch] = []
        for group in self.groups(first_epoch=1_000):
            batches += group
            if len(batches) >= number:
                break
        return batches[:number]

    def labels(self, batch: Batch) -> Tensor:
        return torch.from_numpy(self.data.train_labels[batch.rows]).to(self.device)

    def logits(self, model: nn.Module, batch: Batch) -> Tensor:
        return model(*batch.inputs.to(self.device))

    def losses(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, float]:
        """Return the summed loss of some texts, without label smoothing, and the divisor that makes it their mean."""
        weights = self.data.class_weights.to(logits)
        loss = objective(self.config, multilabel=self.data.multilabel)
        total = loss(logits, labels, class_weights=weights, label_smoothing=0.0).sum()
        return total, float(len(labels)) if self.data.multilabel else float(weights[labels].sum())

    def loss_of_one_answer(self, answer: Tensor, labels: Tensor) -> float:
        """Return the mean loss if every text gets the same logits."""
        total, weight = self.losses(answer.expand(len(labels), -1), labels)
        return float(total) / weight

    def blind_answer(self) -> Tensor:
        """Return logits of zero, as many as the model gives in training. Some designs give more logits than labels."""
        with torch.no_grad():
            return torch.zeros_like(self.logits(self.copy_of_model(dropout=False), self.sample(1)[0])[0])

    def without_reading(self, blind: Tensor, equal: float) -> str:
        """Say which losses answers have that do not depend on the text. A few batches do not know the frequencies."""
        labels = torch.from_numpy(self.data.train_labels).to(self.device)
        known = self.loss_of_one_answer(self._best_answer(labels, len(blind)), labels)
        plain = self.config.loss == "cross-entropy" and not self.data.multilabel
        name = f" (ln {len(blind)})" if plain else ""
        return (
            f"equal chances for every label give {equal:.3f}{name}, and knowing the frequency of each label gives "
            f"{known:.3f}"
        )

    def _best_answer(self, labels: Tensor, n_logits: int) -> Tensor:
        """Return the best logits without a text: log weighted class shares, or log odds of each label."""
        weights = self.data.class_weights.to(labels.device)
        if self.data.multilabel:
            shares = labels.double().mean(dim=0)
            return (shares * weights / (1 - shares)).log().clamp(-20, 20).float()
        counts = torch.bincount(labels, weights[labels], minlength=n_logits)
        return (counts / counts.sum()).clamp(min=1e-9).log().float()

    @classmethod
    def check_truth(cls, sources: Sources, prepared: Prepared) -> list[Finding]:
        """Judge the labels, or the numbers, of the training rows."""
        return [
            *check_spellings(sources.train),
            *check_stand_ins(sources.train),
            *check_labels(prepared.labels, prepared.train_labels, prepared.recipe.training),
        ]

    @classmethod
    def names(cls, prepared: Prepared) -> LabelSet | None:
        """Return the labels that rows are grouped by. None: by quarters of the numbers."""
        return prepared.labels

    @classmethod
    def by_value(cls, table: Table) -> Table:
        """Return the table with equal labels written alike."""
        return table

    def mean_loss(self, model: nn.Module, batches: Iterable[Batch]) -> float:
        total, weight = 0.0, 0.0
        with torch.no_grad():
            for batch in batches:
                summed, counted = self.losses(self.logits(model, batch), self.labels(batch))
                total, weight = total + float(summed), weight + counted
        return total / weight

    def gradients(self, model: nn.Module, group: Sequence[Batch]) -> float:
        """Write the gradient of the mean loss over a step's texts into the parameters, and return that loss."""
        model.zero_grad(set_to_none=True)
        labels = [self.labels(batch) for batch in group]
        weight = sum(self.losses(torch.zeros(len(y), len(self.data.class_weights)).to(y.device), y)[1] for y in labels)
        total = 0.0
        for batch, truth in zip(group, labels, strict=True):
            loss = self.losses(self.logits(model, batch), truth)[0] / weight
            loss.backward()
            total += float(loss.detach())
        return total

    def steps(
        self, model: nn.Module, rates: Iterable[float], groups: Iterable[list[Batch]], *, seconds: float = math.inf
    ) -> Iterator[float]:
        """Train `model` for one step per learning rate, and yield the loss before each step.

        The gradient of the step stays in the parameters. Training ends early when the time is up. If the loss or its
        gradient is not finite, the last value is an infinite loss.
        """
        keep_large_buffers()
        optimizers = build_optimizers(model, self.config)
        began = time.perf_counter()
        for number, (rate, group) in enumerate(zip(rates, groups, strict=False)):
            if number >= _FEWEST_STEPS and time.perf_counter() - began > seconds:
                return
            set_learning_rate(optimizers, rate)
            loss = self.gradients(model, group)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), self.config.clip)
            if not (math.isfinite(loss) and math.isfinite(float(norm))):
                yield math.inf
                return
            for optimizer in optimizers:
                optimizer.step()
            yield loss


def without_dropout(model: nn.Module) -> nn.Module:
    """Set every dropout rate of a model to zero, in whichever attribute it is stored. Norms stay in training mode."""
    for module in model.modules():
        for name in ("p", "dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model
