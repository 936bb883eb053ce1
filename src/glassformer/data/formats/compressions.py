"""Open a file through its compression, which its last extension says."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from glassformer.data.installed import pip_install
from glassformer.errors import UsageError

_MOST_SWOLLEN = 2**28
_MOST_SWELLING, _AT_ONCE = 200, 2**17


_ZSTD: ModuleType | None = None
with suppress(ImportError):  # Python has it from 3.14 on; for earlier versions, a package has the same one
    _ZSTD = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, *([_ZSTD.ZstdError] if _ZSTD else []))
"""What reading a damaged compressed file raises."""


def _open_zstd(path: Path, mode: str) -> BinaryIO:
    if _ZSTD is None:
        raise UsageError(f"{path}: .zst needs an extra: {pip_install('zstd')}; or decompress it: zstd -d {path}")
    return _ZSTD.open(path, mode)


OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _open_zstd}
"""How a compressed file is opened, by its last extension."""


def most_of(packed: int) -> int:
    """Return how many bytes a table may unpack to that has so many. More may be more than memory or disk holds."""
    return max(_MOST_SWOLLEN, _MOST_SWELLING * packed)


class _Bounded(io.RawIOBase):
    """The decompressed bytes of a file. Raises `UsageError` if they become a bomb."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream, self._path = stream, path
        self._most, self._unpacked = most_of(path.stat().st_size), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        self._unpacked += len(piece)
        if self._unpacked > self._most:
            raise UsageError(
                f"{self._path} unpacks to more than {_MOST_SWELLING} times its size; decompress it first, if meant"
            )
        return len(piece)

    def close(self) -> None:
        self._stream.close()
        super().close()


def is_compressed(path: Path) -> bool:
    """Whether the last extension is that of a compression."""
    return path.suffix.lower() in OPENERS


def opened(path: Path) -> BinaryIO:
    """Open the decompressed bytes of a file.

    Raises:
        UsageError: the compression needs a package that is not installed; or, while it is read, it is a bomb.
    """
    if not is_compressed(path):
        return path.open("rb")
    return io.BufferedReader(_Bounded(OPENERS[path.suffix.lower()](path, "rb"), path), _AT_ONCE)
