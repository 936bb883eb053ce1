"""Pauses of an explanation, in which its thread may do other work: the model is then as it always is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IN_PAUSES: ContextVar[Callable[[], None] | None] = ContextVar("in pauses", default=None)


@contextmanager
def in_pauses(work: Callable[[], None]) -> Iterator[None]:
    """Meanwhile, explanations in this thread do this work between two batches."""
    before = _IN_PAUSES.set(work)
    try:
        yield
    finally:
        _IN_PAUSES.reset(before)


def pause() -> None:
    if (work := _IN_PAUSES.get()) is not None:
        work()
