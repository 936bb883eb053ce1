"""Pauses of an explanation, in which its thread may do other work: the model is then as it always is."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

from glassformer.data.meanwhile import meanwhile

_IN_PAUSES: ContextVar[Callable[[], None] | None] = ContextVar("in pauses", default=None)


def in_pauses(work: Callable[[], None]) -> AbstractContextManager[None]:
    """Meanwhile, explanations in this thread do this work between two batches."""
    return meanwhile(_IN_PAUSES, work)


def pause() -> None:
    if (work := _IN_PAUSES.get()) is not None:
        work()
