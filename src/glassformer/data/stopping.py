"""Handle signals that ask to stop. It imports nothing that takes time: the command starts with it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

WITH_STDIN = "GLASSFORMER_STOPS_WITH_STDIN"
"""The environment variable by which a program asks one that it starts to stop with it."""
_PARENT = "parent"  # the thread that waits for its end


class StoppedBySignal(KeyboardInterrupt):
    """A signal asked to stop.

    Where a plain KeyboardInterrupt passes through `eval`, as in many imports, Python ends the process by the signal at
    the end, even if it was caught; it does not do so for a class of our own.
    """


def raise_if_asked_to_stop() -> None:
    """Raise `StoppedBySignal` at each signal that asks to stop, unless it is ignored (as by `nohup`) or handled."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    raise StoppedBySignal(number)


def stop_with_parent() -> None:
    """Stop as by a signal when standard input ends, if the program that started this one asked for that.

    It holds the other end of a pipe and sends nothing. The system closes the pipe even if that program is killed.
    """
    if os.environ.pop(WITH_STDIN, None):  # what this one starts in turn has an input of its own
        threading.Thread(target=_stop_at_end_of_input, name=_PARENT, daemon=True).start()


def stops_with_parent() -> bool:
    """Whether the program that started this one, such as the desk, asked for that."""
    return any(each.name == _PARENT for each in threading.enumerate())


def _stop_at_end_of_input() -> None:
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


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
    with kept_signals() as before:

        def handle(number: int, frame: FrameType | None) -> None:
            if record(number):
                before[number](number, frame)

        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handle)
        yield


@contextmanager
def kept_signals() -> Iterator[dict[int, Any]]:
    """Put back the handlers of signals that ask to stop, by number, which may be replaced inside.

    They are none outside the main thread, where none can be set.
    """
    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS} if in_main else {}
    try:
        yield before
    finally:
        for number, handler in before.items():
            if handler is not None:  # it was not set from Python
                signal.signal(number, handler)
