"""What a training loop needs of whatever is learned: the examples of each step, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from glassformer.data.batches import ModelInputs


class Examples(NamedTuple):
    """What a step learns from, or a part of it: tensors whose first axis counts the examples."""

    inputs: ModelInputs
    labels: Tensor
    """What is to be learned of each example: its class, the next token at each place, …"""

    def split(self, parts: int) -> list[Examples]:
        """The same in so many parts, or as many as there are examples."""
        pieces = [tensor.tensor_split(min(parts, len(self.labels))) for tensor in (*self.inputs, self.labels)]
        return [Examples(ModelInputs(*inputs), labels) for *inputs, labels in zip(*pieces, strict=True)]

    def to(self, device: torch.device) -> Examples:
        return Examples(self.inputs.to(device), self.labels.to(device))


class Cost(NamedTuple):
    """What examples cost, and how many of them were answered rightly, where the task counts that."""

    loss: Tensor
    """Summed over the examples, with a gradient."""
    correct: float | None = None


class Task(Protocol):
    """What is learned. The loss of a step is the summed cost of its examples, divided by their summed weight."""

    unit: str
    """What `count` counts, for people."""

    def steps(self, epoch: int) -> Sequence[Callable[[], list[Examples]]]:
        """The steps of an epoch, a function of its number; each is called when its examples are needed."""

    def weight(self, examples: Examples) -> float: ...

    def count(self, examples: Examples) -> int: ...

    def cost(self, model: nn.Module, examples: Examples) -> Cost: ...

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Figures on held-out data, `validation_loss` among them; none where nothing is held out."""
