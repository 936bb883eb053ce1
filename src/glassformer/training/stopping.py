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

    def record(number: int) -> bool:
        again = asked.number is not None
        asked.number = number
        return again

    with watched_signals(record):
        yield asked


@contextmanager
def watched_signals(record: Callable[[int], bool]) -> Iterator[None]:
    """Call `record` with each signal that asks to stop. If it returns True, the earlier handler is called, too.

    Signals that the program does not handle with its own function stay as they are. So do all signals outside the main
    thread.
    """
    before: dict[int, Callable[[int, FrameType | None], object]] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        if record(number):
            before[number](number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in STOP_SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
