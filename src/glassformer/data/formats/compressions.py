"""Open a file through its compression, which its last extension says."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from glassformer.data.installed import pip_install
from glassformer.errors import UsageError


def _zstd() -> ModuleType | None:
    """Return the module that Python has from 3.14 on, or the same one for earlier versions if it is installed."""
    try:
        return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        return None


_ZSTD = _zstd()
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, *([_ZSTD.ZstdError] if _ZSTD else []))
"""What reading a damaged compressed file raises."""


def _open_zstd(path: Path, mode: str) -> BinaryIO:
    if _ZSTD is None:
        raise UsageError(
            f"{path}: reading .zst needs an extra: {pip_install('zstd')}; or decompress it: zstd -d {path}"
        )
    stream: BinaryIO = _ZSTD.open(path, mode)
    return stream


OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _open_zstd}
"""How a compressed file is opened, by its last extension."""


def is_compressed(path: Path) -> bool:
    """Whether the last extension is that of a compression."""
    return path.suffix.lower() in OPENERS


def opened(path: Path) -> BinaryIO:
    """Open the decompressed bytes of a file.

    Raises:
        UsageError: the compression needs a package that is not installed.
    """
    stream: BinaryIO = OPENERS.get(path.suffix.lower(), open)(path, "rb")
    return stream
