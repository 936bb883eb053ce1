"""The time that a run of ONNX Runtime may take."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_LOOKS_AFTER = 0.25  # seconds
_running: dict[Any, float] = {}
"""The options of each run → when it is ended."""
_begun = threading.Event()


@contextmanager
def ended_after(seconds: float) -> Iterator[Any]:
    """Yield the options of a run that ends with an error if it takes longer: then their `terminate` is true.

    One thread looks after all runs of the process. To start one for each run takes longer than the run of a short text.
    """
    import onnxruntime

    options = onnxruntime.RunOptions()
    _running[options] = time.monotonic() + seconds
    _watcher()
    _begun.set()
    try:
        yield options
    finally:
        del _running[options]


@cache
def _watcher() -> threading.Thread:
    thread = threading.Thread(target=_watch, name="run-limit", daemon=True)
    thread.start()
    return thread


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_watcher.cache_clear)  # a forked process has no thread but its first


def _watch() -> None:
    while _begun.wait():
        _begun.clear()
        while _running:
            time.sleep(_LOOKS_AFTER)
            for options, end in _running.copy().items():
                if time.monotonic() > end:
                    options.terminate = True
