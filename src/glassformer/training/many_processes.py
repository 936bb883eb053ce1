"""Several processes that train one model, as torchrun starts them: each has a part of every batch.

The gradients are summed by hand, not by `DistributedDataParallel`. That class takes the mean over the processes, calls
only `forward`, and needs a part of the batch in each process. Here the loss of a step is a sum over all of its
examples, divided by their weight; a language model has other methods than `forward`; and of a small last batch, some
processes get nothing.
"""

import atexit
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import Store
from torch.distributed.rendezvous import rendezvous

from glassformer.errors import UsageError
from glassformer.prediction.devices import choose_device
from glassformer.training.processes import LostProcessError, Processes
from glassformer.training.task import Examples

BEAT = 5.0
"""Seconds between two signs of life, and between two looks at those of the others."""
_MOST_MISSED = 8


class Heartbeat:
    """A thread that gives signs of life while this process works, however long that takes.

    Args:
        seconds: between two signs.
    """

    def __init__(self, store: Store, rank: int, size: int, *, seconds: float = BEAT) -> None:
        self._store, self._rank, self._size, self._seconds = store, rank, size, seconds
        self._ended = threading.Event()
        self._seen: dict[int, tuple[int, int]] = {}  # rank → its last sign, and the looks that found no other
        self._thread = threading.Thread(target=self._beat, daemon=True, name="heartbeat")
        self._thread.start()

    def end(self) -> None:
        """Give no further signs."""
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._ended.is_set():
                self._store.add(_key(self._rank), 1)
                self._ended.wait(self._seconds)
        except RuntimeError:  # the process that keeps the store has ended; connections to it close
            return

    def wait(self, work: dist.Work) -> int | None:
        """Wait until the work that all take part in is done. Return the rank of a process that seems to be gone.

        Raises:
            RuntimeError: a connection to another process has closed.
        """
        self._seen.clear()
        while not _is_done(work.wait, self._seconds):
            if (silent := self._silent()) is not None:
                return silent
        return None

    def _silent(self) -> int | None:
        """Look at the signs of the others. Looks are counted, not seconds: Ctrl-Z may stop all processes for hours."""
        for rank in range(self._size):
            sign = self._store.add(_key(rank), 0)
            before, missed = self._seen.get(rank, (-1, 0))
            self._seen[rank] = sign, missed + 1 if sign == before else 0
            if self._seen[rank][1] >= _MOST_MISSED and rank != self._rank:
                return rank
        return None


def _is_done(wait: Callable[[timedelta], bool], seconds: float) -> bool:
    try:
        wait(timedelta(seconds=seconds))
    except RuntimeError as error:
        if "timed out" in str(error):
            return False
        raise
    return True


def _silent(rank: int, here: int) -> str:
    return f"process {rank} of this run (RANK={rank}) does not answer, so process {here} cannot go on"


def _key(rank: int) -> str:
    return f"alive/{rank}"


_LONGEST_WAIT = timedelta(days=1)
"""The process that leads may work alone for hours, for example to fit the counting reader. A process that has ended is
noticed at once: its connection closes, and torchrun stops the others. `Heartbeat` notices others within a minute."""
_LONGEST_MEETING = timedelta(minutes=1)
"""torchrun starts all processes at once. PyTorch tries twice for so long to reach the first one."""


def choose_device_of_process(name: str) -> str:
    """Return the device of this process: the CPU, or the GPU with the number of the process on its machine.

    Raises:
        UsageError: the device is not available, belongs to one process alone, or there are fewer GPUs than processes.
    """
    chosen = choose_device(name)
    if chosen == "cpu":
        return chosen
    if chosen != "cuda":
        raise UsageError(
            f"`device={name!r}` names one device, and each process needs its own; choose cuda, cpu or auto"
        )
    gpus, here = torch.cuda.device_count(), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if here > gpus:
        raise UsageError(
            f"`device={name!r}`: {here} processes on this machine need a GPU each, and it has {gpus}; start fewer "
            "processes, or choose cpu"
        )
    return f"cuda:{os.environ['LOCAL_RANK']}"


class ManyProcesses(Processes):
    """The processes that torchrun started. They exchange gradients by NCCL between GPUs, everything else by gloo.

    Attributes:
        leads: whether this process writes files: the first one, or after a loss the first one that noticed.
        lost: whether another process has ended too early.
        deserted: whether that was the one that the others need to find each other. Without torchrun it is the first.
    """

    def __init__(self, device: str) -> None:
        """Join the others. torchrun sets the variables RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.

        Raises:
            LostProcessError: the others cannot be reached.
        """
        self.device, self.lost, self.deserted = torch.device(device), False, False
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        try:
            meeting = _LONGEST_MEETING / (1 if os.environ.get("RANK") == "0" else 2)
            self._store, self.rank, self.size = next(iter(rendezvous("env://", timeout=meeting)))
            self._store.set_timeout(_LONGEST_MEETING)
            dist.init_process_group(
                "nccl" if self.device.type == "cuda" else "gloo",
                store=self._store,
                rank=self.rank,
                world_size=self.size,
            )
            self._talking = dist.new_group(backend="gloo", timeout=_LONGEST_WAIT)
        except (RuntimeError, ValueError) as error:
            where = ":".join(os.environ.get(name, "?") for name in ("MASTER_ADDR", "MASTER_PORT"))
            cause = str(error).splitlines()[0]
            raise LostProcessError(
                f"the processes of this run do not reach each other at {where} ({cause}); start all of them with "
                "torchrun"
            ) from error
        self.leads, self._heartbeat = self.rank == 0, Heartbeat(self._store, self.rank, self.size)
        atexit.register(self._leave)

    def share(self, batches: list[Examples]) -> list[Examples]:
        """Return a slice of every batch. Batches are of texts of similar length, so the slices take equally long."""
        return [part for batch in batches for part in batch.split(self.size)[self.rank : self.rank + 1]]

    def sum(self, values: Sequence[float], parameters: Iterable[nn.Parameter]) -> Sequence[float]:
        """Sum values and gradients. A parameter without a gradient in any process stays without one."""
        learned = [parameter for parameter in parameters if parameter.requires_grad]
        has_gradient = [float(parameter.grad is not None) for parameter in learned]
        # Values first: gloo notices a lost process at once, NCCL would wait for it.
        summed = self._reduced([*values, *has_gradient], dist.ReduceOp.SUM)
        learned = [parameter for parameter, count in zip(learned, summed[len(values) :], strict=True) if count]
        if learned:
            gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in learned]
            together = torch.cat([gradient.flatten() for gradient in gradients])
            self._reduce(together, dist.ReduceOp.SUM, None)
            pieces = together.split([parameter.numel() for parameter in learned])
            for parameter, piece in zip(learned, pieces, strict=True):
                parameter.grad = piece.view_as(parameter)
        return summed[: len(values)]

    def agree(self, *values: float) -> Sequence[float]:
        return self._reduced(values, dist.ReduceOp.MAX)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Seed each process with its own number and a common draw, which the checkpoint determines."""
        common = int(torch.randint(2**31, ()))
        with torch.random.fork_rng(devices=[self.device.index] if self.device.type == "cuda" else []):
            torch.manual_seed(common * self.size + self.rank)
            yield

    def first_to_fail(self) -> bool:
        """Whether no other process has called this method before."""
        return self._first("failed")

    def _after_loss(self, *said: str) -> LostProcessError:
        self.lost, self.leads = True, self._first("lost")
        if self.deserted:
            said = (_silent(0, self.rank),)
        return LostProcessError(*said)

    def _first(self, event: str) -> bool:
        try:
            return self._store.add(event, 1) == 1
        except RuntimeError:  # torchrun has ended, or the first process where there is none
            self.deserted = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
            return self.rank == int(self.deserted)

    def _reduced(self, values: Sequence[float], operation: dist.ReduceOp.RedOpType) -> list[float]:
        tensor = torch.tensor(values, dtype=torch.float64)
        self._reduce(tensor, operation, self._talking)
        return tensor.tolist()

    def _reduce(self, tensor: Tensor, operation: dist.ReduceOp.RedOpType, group: dist.ProcessGroup | None) -> None:
        try:
            work = dist.all_reduce(tensor, operation, group, async_op=True)
            assert work is not None
            if tensor.is_cuda:
                work.wait()  # the sum of the values before it has come to an end, so all are there
                return
            silent = self._heartbeat.wait(work)
        except RuntimeError as error:
            raise self._after_loss() from error
        if silent is not None:
            raise self._after_loss(_silent(silent, self.rank))

    def _leave(self) -> None:
        self._heartbeat.end()
        if not self.lost and dist.is_initialized():
            dist.destroy_process_group()
