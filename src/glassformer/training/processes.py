"""What processes that train one model together must do together. One process alone has nothing to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from torch import nn

from glassformer.training.task import Examples


class Processes(Protocol):
    """Every process holds the same model, takes the same steps and calls the same methods in the same order."""

    def share(self, batches: list[Examples]) -> list[Examples]:
        """This process's part of the examples of a step; together the processes have each example once."""

    def sum(self, values: Sequence[float], parameters: Iterable[nn.Parameter]) -> Sequence[float]:
        """Each value summed over the processes. The gradients become their sums, a missing one counting as zero."""

    def agree(self, *values: float) -> Sequence[float]:
        """For each value the largest that any process has."""


class OneProcess:
    """The process is alone."""

    def share(self, batches: list[Examples]) -> list[Examples]:
        return batches

    def sum(self, values: Sequence[float], parameters: Iterable[nn.Parameter]) -> Sequence[float]:  # noqa: ARG002
        return values

    def agree(self, *values: float) -> Sequence[float]:
        return values
