"""The bench: a model as it would start training, the batches it would see, and a way to take a few steps.

The steps are plainer than those of the run: in float32, without token dropout and label smoothing.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor, nn

from glassformer.data.batches import Batch, assemble, random_windows
from glassformer.training.classification import TrainingData
from glassformer.training.objectives import objective
from glassformer.training.optimizers import build_optimizers, freeze, set_learning_rate
from glassformer.training.order import one_pass, plan_epoch
from glassformer.training.training_config import TrainingConfig

_FEWEST_STEPS = 20  # even where time is up: fewer say nothing


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What a check of the model needs. Checks work on copies of `model`, so that each finds it as it was.

    Attributes:
        model: as it would be before the first step.
        data: encoded training texts, a sample of them where there are very many.
        from_weights: whether the model has learned something before.
    """

    model: nn.Module
    data: TrainingData
    config: TrainingConfig
    max_seq_len: int
    from_weights: bool = False

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def copy_of_model(self, *, dropout: bool = True) -> nn.Module:
        """The model once more, in training mode; without dropout its loss depends on weights and texts alone."""
        model = copy.deepcopy(self.model).train()
        freeze(model, self.config.freeze)
        return model if dropout else without_dropout(model)

    def groups(self, *, first_epoch: int = 0) -> Iterator[list[Batch]]:
        """The batches of each step, epoch after epoch without end: those that the run itself would take."""
        lengths = self.data.train.lengths
        for epoch in count(first_epoch):
            windows, groups = plan_epoch(lengths, self.config, max_seq_len=self.max_seq_len, epoch=epoch)
            for group in groups:
                yield [assemble(self.data.train, windows, chosen) for chosen in group]

    @property
    def steps_per_pass(self) -> int:
        """Steps until a text comes again."""
        lengths, seed = self.data.train.lengths, self.config.seed
        return len(one_pass(random_windows(lengths, self.max_seq_len, seed=seed, epoch=0), self.config, 0))

    def sample(self, number: int) -> list[Batch]:
        """The first batches of an epoch of their own."""
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
        """The summed loss of some texts, without label smoothing, and what it is divided by for their mean."""
        weights = self.data.class_weights.to(logits)
        loss = objective(self.config, multilabel=self.data.multilabel)
        total = loss(logits, labels, class_weights=weights, label_smoothing=0.0).sum()
        return total, float(len(labels)) if self.data.multilabel else float(weights[labels].sum())

    def loss_of_one_answer(self, answer: Tensor, labels: Tensor) -> float:
        """The mean loss of the same logits for every text."""
        total, weight = self.losses(answer.expand(len(labels), -1), labels)
        return float(total) / weight

    def blind_answer(self) -> Tensor:
        """Logits of zero, as many as the model gives in training: some designs have more than there are labels."""
        with torch.no_grad():
            return torch.zeros_like(self.logits(self.copy_of_model(dropout=False), self.sample(1)[0])[0])

    def mean_loss(self, model: nn.Module, batches: Iterable[Batch]) -> float:
        """The mean loss over all texts of the batches."""
        total, weight = 0.0, 0.0
        with torch.no_grad():
            for batch in batches:
                summed, counted = self.losses(self.logits(model, batch), self.labels(batch))
                total, weight = total + float(summed), weight + counted
        return total / weight

    def gradients(self, model: nn.Module, group: Sequence[Batch]) -> float:
        """Leave the gradient of the mean loss over a step's texts in the parameters; return that loss."""
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
        """Train `model`, one step for each rate; yields the loss before each step, its gradient still in place after.

        Ends early when time is up, or with an infinite loss when that or its gradient stops being finite.
        """
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
    """Turn every dropout of a model off, whatever attribute keeps its share; norms stay in training mode."""
    for module in model.modules():
        for name in ("p", "dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model
