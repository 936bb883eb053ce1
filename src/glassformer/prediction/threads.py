"""Read several batches at once, each with one thread: threads that share a small batch mostly wait for each other."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from threading import Barrier, Lock
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")
_making = Lock()


def in_threads(
    compute: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[tuple[Item, Result], None, None]:
    """Yield each item and what `compute` returns of it, in their order, from so many threads that compute alone.

    At most twice as many items are taken ahead. After an exception of `compute` no more are taken. With one thread, it
    is that of the caller, and computes as torch is set there.
    """
    if threads == 1:
        yield from ((item, compute(item)) for item in items)
        return
    rest = iter(items)
    pool = _pool(threads)
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    try:
        while True:
            for item in islice(rest, 2 * threads - len(waiting)):
                waiting.append((item, pool.submit(compute, item)))
            if not waiting:
                return
            item, future = waiting.popleft()
            yield item, future.result()
    finally:
        for _, future in waiting:
            future.cancel()


def _pool(threads: int) -> ThreadPoolExecutor:
    with _making:
        return _made(threads)


@cache
def _made(threads: int) -> ThreadPoolExecutor:
    """Start the threads, once: each new one takes memory of its own, which the process keeps.

    `torch.set_num_threads` is for one thread, but it also says with what number others begin, the first time that they
    ask for it. So each of these asks at once, and then the caller sets its own number again.
    """
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="batches")
    begun = Barrier(threads)

    def begin() -> None:
        torch.set_num_threads(1)
        torch.get_num_threads()
        begun.wait()  # so that each thread takes one of these calls

    try:
        for future in [pool.submit(begin) for _ in range(threads)]:
            future.result()
    except RuntimeError:  # the system gives no more threads
        begun.abort()
        raise
    finally:
        torch.set_num_threads(before)
    return pool


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_made.cache_clear)  # a forked process has no thread but its first
