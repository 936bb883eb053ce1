"""Notice a process that neither works nor ends: it is stopped, or its machine is gone without closing connections."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import torch.distributed as dist
from torch._C._distributed_c10d import Store

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


def _key(rank: int) -> str:
    return f"alive/{rank}"
