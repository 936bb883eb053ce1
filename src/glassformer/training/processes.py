"""The steps that several processes must take together to train one model. A single process has nothing to do."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from torch import nn

from glassformer.errors import GlassformerError
from glassformer.training.task import Examples


class LostProcessError(GlassformerError):
    """Another process of the run has ended or cannot be reached, so this one cannot go on.

    Args:
        saved_step: the step up to which this process has saved the run, if it has.
    """

    def __init__(
        self,
        message: str = "another process of this run has ended, so this one cannot go on",
        *,
        saved_step: int | None = None,
    ) -> None:
        super().__init__(message)
        self.saved_step = saved_step


class Processes:
    """Every process holds the same model, takes the same steps and calls the same methods in the same order.

    If a process ends too early, these methods raise `LostProcessError` in the others. This class is a process that is
    alone.

    Attributes:
        leads: whether this is the process that writes files. Exactly one process is. If a process was lost, it is the
            first one that noticed.
    """

    size: int = 1
    leads: bool = True

    def share(self, batches: list[Examples]) -> list[Examples]:
        """Return this process's part of the examples of a step. Each example goes to exactly one process."""
        return batches

    def sum(self, values: Sequence[float], parameters: Iterable[nn.Parameter]) -> Sequence[float]:  # noqa: ARG002
        """Sum each value over the processes. Gradients are summed in place; a missing gradient counts as zero."""
        return values

    def agree(self, *values: float) -> Sequence[float]:
        """Return the largest of each value over all processes."""
        return values

    def apart(self) -> AbstractContextManager[None]:
        """Let each process draw other random numbers in the `with` block, and the same ones again after it."""
        return nullcontext()


ALONE = Processes()


def wait_for_all(processes: Processes) -> None:
    """Return once every process has come here."""
    processes.agree(0.0)


@contextmanager
def leader_first(processes: Processes) -> Iterator[None]:
    """Run the `with` block first in the process that leads. The others then find the files that it has written."""
    if not processes.leads:
        wait_for_all(processes)
    yield
    if processes.leads:
        wait_for_all(processes)
