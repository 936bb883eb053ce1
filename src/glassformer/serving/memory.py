"""Give memory back to the system that large requests took and freed."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_GROWN = 32 << 20  # bytes; less is not worth the work
_PAGES = Path("/proc/self/statm")


class FreedMemory:
    """What is freed and still held by glibc, which by itself returns only the end of its heaps.

    Other C libraries return it themselves, and are left as they are.
    """

    def __init__(self) -> None:
        c_library = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
        self._trim = getattr(c_library, "malloc_trim", None)
        self._least = 0 if self._trim is None else resident()

    @property
    def is_worth_giving_back(self) -> bool:
        """Whether this process has grown since memory was last given back."""
        return self._trim is not None and resident() > self._least + _GROWN

    def give_back(self) -> None:
        """Return all pages that hold nothing. It takes milliseconds, in which other threads go on."""
        if self._trim is not None:
            self._trim(0)
            self._least = resident()


def resident() -> int:
    """Return the bytes of memory that this process takes (Linux)."""
    return int(_PAGES.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
