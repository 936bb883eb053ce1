"""Handle requests to stop. After the first one the step is finished and saved; the second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@dataclass
class StopRequest:
    """Whether the user asked to stop, by the number of a signal."""

    number: int | None = None


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Record the first Ctrl-C, so that a step can be finished and saved. The second Ctrl-C stops at once.

    The same holds for other signals that ask to stop, if the program handles them with its own function.
    """
    asked = StopRequest()
    before: dict[int, Callable[[int, FrameType | None], object]] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.number is not None:
            before[number](number, frame)
        asked.number = number

    if threading.current_thread() is threading.main_thread():
        for number in STOP_SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, handle)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
