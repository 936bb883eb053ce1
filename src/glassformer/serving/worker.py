"""The one thread that asks the models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from glassformer.serving.limits import RefusedError

Result = TypeVar("Result")
_LOOK_AGAIN = 0.1  # seconds


class Worker:
    """Does work in the order of the requests, one piece at a time.

    An explanation replaces the embeddings inside a model while it computes gradients, so nothing else may ask the model
    then.
    """

    def __init__(self, most_waiting: int) -> None:
        self._most_waiting = most_waiting
        self._waiting = 0
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="models")

    @property
    def full(self) -> bool:
        return self._waiting >= self._most_waiting

    async def do(self, work: Callable[[], Result]) -> Result:
        """Do a piece of work in the thread. If this is cancelled, work that has not begun is not done.

        Raises:
            RefusedError: too many pieces wait already (429).
        """
        if self.full:
            raise RefusedError(429, f"{self._waiting:,} requests wait already; try again in a few seconds")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    async def go_on(self, work: Callable[[], Result]) -> Result:
        """Do the next piece of something that has begun. It waits for its turn and is not refused."""
        while self.full:
            await asyncio.sleep(_LOOK_AGAIN)
        return await self.do(work)

    def stop(self) -> None:
        """End the thread after the piece of work that it does now."""
        self._thread.shutdown(wait=False, cancel_futures=True)
