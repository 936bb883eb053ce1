"""The interface between the training loop and a task: the examples of each step, and their loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from glassformer.data.batches import ModelInputs


class Examples(NamedTuple):
    """The examples of a step, or a part of them, as tensors. The first axis counts the examples."""

    inputs: ModelInputs
    labels: Tensor
    """The target of each example: its class, the next token at each position, …"""

    def split(self, parts: int) -> list[Examples]:
        """Split into this many parts, or into one part per example if there are fewer examples."""
        pieces = [tensor.tensor_split(min(parts, len(self.labels))) for tensor in (*self.inputs, self.labels)]
        return [Examples(ModelInputs(*inputs), labels) for *inputs, labels in zip(*pieces, strict=True)]

    def to(self, device: torch.device) -> Examples:
        return Examples(self.inputs.to(device), self.labels.to(device))


class Cost(NamedTuple):
    """The loss of examples, and the number of right answers if the task counts them."""

    loss: Tensor
    """Summed over the examples, with a gradient."""
    correct: float | None = None


class Task(Protocol):
    """What is learned. The loss of a step is the summed cost of its examples, divided by their summed weight."""

    unit: str
    """What `count` counts, for people."""

    def steps(self, epoch: int) -> Sequence[Callable[[], list[Examples]]]:
        """Return the steps of an epoch, which depend on its number alone. Calling a step gives its examples."""

    def weight(self, examples: Examples) -> float: ...

    def count(self, examples: Examples) -> int: ...

    def cost(self, model: nn.Module, examples: Examples) -> Cost: ...

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return metrics on held-out data, with `validation_loss` among them. Empty if nothing is held out."""
