"""What a command is doing, for a person who waits. No command is silent for long.

In a terminal, a line is drawn again every second. It disappears when there is a message or a result. Elsewhere, as in a
pipe or a log file, a new line is written after five seconds of silence if something else is done now, such as the next
epoch. Otherwise only the figures have changed. The longer the command has run, the rarer such a line is; not for the
desk, which shows the last one.
"""

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from glassformer.data.stopping import stops_with_parent
from glassformer.data.wording import duration

_REDRAWN_AFTER = 1.0  # seconds, in a terminal
_SAID_AFTER = 4.0  # seconds of silence, elsewhere; it is checked every second, so that a silence ends within five
_AGAIN_AFTER = 30.0  # seconds at most, if only the figures have changed; half of the time that was taken, before that
_FIGURES = re.compile(r"\d+%|[,:] .*", re.DOTALL)  # in `epoch 3/4, 44%: loss 0.536`
_ERASE = "\r\x1b[K"


class Activity:
    """A thread that shows what is being done, while nothing else is shown."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._drawn = False
        self._pauses = 0
        self.hushed = False
        self._what = self._said = ""
        self._since = self._silent_since = 0.0

    @contextmanager
    def running(self, what: str) -> Iterator[None]:
        """Show what is being done until the end of the `with` block, and how long the block has taken."""
        self._pauses, self.hushed, self._said = 0, False, ""
        self._since = self._silent_since = time.monotonic()
        self.doing(what)
        self._stopped.clear()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        with suppress(RuntimeError):  # no more threads can be started; the command does without this one
            self._thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            if self._thread.is_alive():
                self._thread.join()
            self._erase()

    def doing(self, what: str) -> None:
        """Set what is being done from now on, or how far it is. Nothing is shown while this is empty."""
        self._what = what

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Write something else inside the `with` block."""
        with self._lock:
            self._erase()
            self._silent_since = time.monotonic()
            yield

    def pause(self) -> None:
        """Show nothing until `resume`, because a bar is shown instead."""
        with self._lock:
            self._erase()
            self._pauses += 1

    def resume(self) -> None:
        """End a pause."""
        with self._lock:
            self._pauses -= 1

    def hush(self) -> None:
        """Show nothing for the rest of the command, because the user wants quiet."""
        with self._lock:
            self._erase()
            self.hushed = True

    def _watch(self) -> None:
        while not self._stopped.wait(_REDRAWN_AFTER):
            with self._lock, suppress(OSError, ValueError):
                if self._what and not self._pauses and not self.hushed:
                    self._show()

    def _show(self) -> None:
        now = time.monotonic()
        line = f"{self._what} ({duration(round(now - self._since))} since the start)"
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            sys.stderr.write(f"{_ERASE}{line[: shutil.get_terminal_size().columns - 1]}")
            self._drawn = True
        elif now - self._silent_since >= self._patience(now):
            sys.stderr.write(f"{line}\n")
            self._silent_since, self._said = now, _FIGURES.sub("", self._what)
        sys.stderr.flush()

    def _patience(self, now: float) -> float:
        """Return after how many seconds of silence a line is written."""
        if _FIGURES.sub("", self._what) != self._said or stops_with_parent():
            return _SAID_AFTER
        return min(_AGAIN_AFTER, max(_SAID_AFTER, (now - self._since) / 2))

    def _erase(self) -> None:
        if self._drawn:
            with suppress(OSError, ValueError):
                sys.stderr.write(_ERASE)
                sys.stderr.flush()
            self._drawn = False


ACTIVITY = Activity()
