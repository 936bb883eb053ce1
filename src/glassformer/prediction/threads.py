"""How answers use the cores of a machine: each batch is read with one thread, and several batches at once."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def one_thread_each() -> Iterator[int]:
    """Compute with one thread in the `with` block; yield how many threads torch would take.

    The layers of a small batch are so short that threads which share them mostly wait for each other.
    """
    before = torch.get_num_threads()
    if before == 1:
        yield 1
        return
    torch.set_num_threads(1)
    try:
        yield before
    finally:
        torch.set_num_threads(before)


def at_once(compute: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[tuple[Item, Result]]:
    """Yield each item and what `compute` returns of it, in their order, computed in so many threads.

    At most twice as many items are taken ahead. If `compute` raises an exception, no other item begins.
    """
    rest = iter(items)
    ahead = list(islice(rest, 2 * threads)) if threads > 1 else []
    if len(ahead) < 2:
        yield from ((item, compute(item)) for items in (ahead, rest) for item in items)
        return
    with ThreadPoolExecutor(min(threads, len(ahead))) as pool:
        waiting: deque[tuple[Item, Future[Result]]] = deque((item, pool.submit(compute, item)) for item in ahead)
        try:
            while waiting:
                item, future = waiting.popleft()
                found = future.result()
                waiting.extend((each, pool.submit(compute, each)) for each in islice(rest, 1))
                yield item, found
        finally:
            for _, future in waiting:
                future.cancel()
