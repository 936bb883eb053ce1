"""The steps that several processes must take together to train one model. A single process has nothing to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from torch import nn

from glassformer.training.task import Examples


class Processes(Protocol):
    """Every process holds the same model, takes the same steps and calls the same methods in the same order."""

    def share(self, batches: list[Examples]) -> list[Examples]:
        """Return this process's part of the examples of a step. Each example goes to exactly one process."""

    def sum(self, values: Sequence[float], parameters: Iterable[nn.Parameter]) -> Sequence[float]:
        """Sum each value over the processes. Gradients are summed in place; a missing gradient counts as zero."""

    def agree(self, *values: float) -> Sequence[float]:
        """Return the largest of each value over all processes."""


class OneProcess:
    """The process is alone."""

    def share(self, batches: list[Examples]) -> list[Examples]:
        return batches

    def sum(self, values: Sequence[float], parameters: Iterable[nn.Parameter]) -> Sequence[float]:  # noqa: ARG002
        return values

    def agree(self, *values: float) -> Sequence[float]:
        return values
