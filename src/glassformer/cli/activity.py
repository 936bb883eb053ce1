"""What a command is doing, for a person who waits.

In a terminal it is a line that is drawn again every second and goes away when there is something to say. Elsewhere it
is a line now and then, so that a log shows that the command is alive.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_REDRAWN_AFTER = 1.0  # seconds, in a terminal
_SAID_AFTER, _SAID_AT_LEAST_EVERY = 10.0, 120.0  # of silence, elsewhere
_ERASE = "\r\x1b[K"


class Activity:
    """A thread that shows what is being done while nothing else is shown."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._drawn = False
        self._pauses = 0
        self._what = ""
        self._since = self._silent_since = 0.0
        self._patience = _SAID_AFTER

    @contextmanager
    def running(self, what: str) -> Iterator[None]:
        """Watch as long as this lasts."""
        self._pauses, self._patience, self._silent_since = 0, _SAID_AFTER, time.monotonic()
        self.doing(what)
        self._stopped.clear()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            self._thread.join()
            self._erase()

    def doing(self, what: str) -> None:
        """From now on this is being done."""
        with self._lock:
            self._what, self._since = what, time.monotonic()

    def progress(self, what: str) -> None:
        """The same thing goes on, and this is how far it is."""
        self._what = what

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Something else is written now."""
        with self._lock:
            self._erase()
            self._silent_since, self._patience = time.monotonic(), _SAID_AFTER
            yield

    def pause(self) -> None:
        """A bar is there instead, or nothing is to be shown."""
        with self._lock:
            self._erase()
            self._pauses += 1

    def resume(self) -> None:
        with self._lock:
            self._pauses -= 1

    def _watch(self) -> None:
        while not self._stopped.wait(_REDRAWN_AFTER):
            with self._lock, suppress(OSError, ValueError):
                if self._what and not self._pauses:
                    self._show()

    def _show(self) -> None:
        now = time.monotonic()
        line = f"{self._what} ({now - self._since:.0f} s)"
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            sys.stderr.write(f"{_ERASE}{line[: shutil.get_terminal_size().columns - 1]}")
            self._drawn = True
        elif now - self._silent_since >= self._patience:
            sys.stderr.write(f"{line}\n")
            self._silent_since, self._patience = now, min(2 * self._patience, _SAID_AT_LEAST_EVERY)
        sys.stderr.flush()

    def _erase(self) -> None:
        if self._drawn:
            with suppress(OSError, ValueError):
                sys.stderr.write(_ERASE)
                sys.stderr.flush()
            self._drawn = False


ACTIVITY = Activity()
