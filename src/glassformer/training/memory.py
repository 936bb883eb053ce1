"""Keep large buffers between steps."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # <malloc.h>


def keep_large_buffers() -> None:
    """Ask the C library not to hand large freed buffers back to the system.

    Every training step frees and allocates the same large buffers. By default glibc returns each of them to the kernel,
    which must then clear its pages again. That takes up to half of the processor time. Other C libraries are left as
    they are.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 2**30)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
