"""An array that is gathered part by part: a small one in memory, a large one in a file that is mapped."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np

from glassformer.data.arrays import Array

_ROWS_AT_ONCE = 20_000
_MOST_IN_MEMORY = 16 << 20  # bytes


def blocks(rows: Array) -> list[Array]:
    """Cut rows into blocks, so that a step needs the memory of one of them. There is one block at least."""
    return np.array_split(rows, max(1, -(-len(rows) // _ROWS_AT_ONCE)))


def gathered(parts: Iterable[Array], work: Path | None) -> Array:
    """Return parts of one dtype as one array (see `Gathered`)."""
    found = Gathered(work)
    for part in parts:
        found.add(part)
    return found.whole()


class Gathered:
    """Parts of an array, one after another. All have one dtype.

    The file has no name: it is gone with the array, also if the process is killed.

    Args:
        work: the folder of the file. None: memory holds all parts.
    """

    def __init__(self, work: Path | None) -> None:
        self._work, self._parts, self._bytes = work, list[Array](), 0
        self._file: IO[bytes] | None = None

    def add(self, part: Array) -> None:
        self._parts.append(part)
        self._bytes += part.nbytes
        if self._work is not None and (self._file or self._bytes > _MOST_IN_MEMORY):
            self._file = self._file or tempfile.TemporaryFile(dir=self._work)  # noqa: SIM115 (`whole` closes it)
            for each in self._parts:
                each.tofile(self._file)
            self._parts = [part[:0]]  # of its dtype and width

    def whole(self) -> Array:
        """Return all parts as one array. Nothing can be added then."""
        if self._file is None:
            parts, self._parts = self._parts, []
            return np.concatenate(parts)
        empty = self._parts[0]
        with self._file:  # the map keeps what it needs of it
            flat = np.memmap(self._file, empty.dtype, "r+")
        return np.asarray(flat).reshape(-1, *empty.shape[1:])
