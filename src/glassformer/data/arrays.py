"""The types of arrays, the files of a model folder that hold them, and arrays that are gathered part by part."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from glassformer.data.files import writing_in
from glassformer.data.meanwhile import meanwhile
from glassformer.errors import GlassformerError

_FOLDER: ContextVar[Path | None] = ContextVar("folder", default=None)

Array = np.ndarray[Any, np.dtype[Any]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
IntArray = np.ndarray[Any, np.dtype[np.int64]]
FloatArray = np.ndarray[Any, np.dtype[np.float32]]
DoubleArray = np.ndarray[Any, np.dtype[np.float64]]
Numbers = DoubleArray
"""The numbers of texts, in the unit of a target."""

Real = TypeVar("Real", np.float32, np.float64)


def unit(vectors: np.ndarray[Any, np.dtype[Real]]) -> np.ndarray[Any, np.dtype[Real]]:
    """Scale each vector (…, width) to length 1. Zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)


def some_of(rows: int, most: int, seed: int) -> IntArray:
    """Return the numbers of all rows, or of `most` that are drawn at random, in their order."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def check_is_file(path: Path) -> None:
    """Check that a file of a model folder can be opened.

    Raises:
        GlassformerError: it is missing, or is not a file.
    """
    if not path.exists():
        raise GlassformerError(f"{path} is missing; copy the whole folder again")
    if not path.is_file():  # it may be a pipe or device, which may never end
        raise GlassformerError(f"{path} is not a file; copy it again")


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a safetensors file by their names.

    Raises:
        GlassformerError: the file is missing or damaged.
    """
    check_is_file(path)
    try:
        return load_file(path)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:  # also of a type that NumPy lacks
        raise GlassformerError(f"{path} is cut short or damaged ({error}); copy the folder again") from error


def read_array(path: Path, name: str) -> Array:
    """Return the array of this name from a safetensors file.

    Raises:
        GlassformerError: the file is missing or damaged, or has no such array.
    """
    arrays = read_arrays(path)
    if name not in arrays:
        raise GlassformerError(f"{path} is cut short or damaged (it holds no {name!r}); copy the folder again")
    return arrays[name]


def as_weights(arrays: Mapping[str, Array], path: Path) -> dict[str, FloatArray]:
    """Return the arrays of a file in float32.

    Raises:
        GlassformerError: one holds something else than finite numbers.
    """
    if odd := [name for name, array in arrays.items() if array.dtype.kind != "f"]:
        raise GlassformerError(f"{path}: {odd[0]} is of the type {arrays[odd[0]].dtype}; weights are floats")
    with np.errstate(over="ignore"):
        found = {name: array.astype(np.float32) for name, array in arrays.items()}
    if odd := [name for name, array in found.items() if not np.isfinite(array).all()]:
        raise GlassformerError(f"{path}: {odd[0]} holds NaN or infinite weights; the file is damaged")
    return found


@contextmanager
def mapping_in(folder: Path) -> Iterator[None]:
    """Meanwhile, large frames and arrays lie in files of this folder, or of the first one above it that exists.

    The files have no names, and vanish with what lies in them, also if the process is killed. If nothing can be written
    or mapped there, memory holds all: whoever writes more there says why.
    """
    there: Path | None = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"x")
            file.flush()
            np.memmap(file, np.uint8, "r+")
    except OSError:
        there = None
    with meanwhile(_FOLDER, there):
        yield


def mapping_folder() -> Path | None:
    """Return the folder of `mapping_in`. None: memory holds all."""
    return _FOLDER.get()


_ROWS_AT_ONCE = 20_000
_MOST_IN_MEMORY = 16 << 20  # bytes


def blocks(rows: Array) -> list[Array]:
    """Cut rows into blocks, so that a step needs the memory of one of them. There is one block at least."""
    return np.array_split(rows, max(1, -(-len(rows) // _ROWS_AT_ONCE)))


def parts_of(rows: int, at_once: int | None = None) -> list[slice]:
    """Return slices of nearly equal size that cover so many rows, one at least. Unlike `blocks`, they copy nothing."""
    starts = np.linspace(0, rows, max(1, -(-rows // (at_once or _ROWS_AT_ONCE))) + 1).astype(int).tolist()
    return [slice(*part) for part in pairwise(starts)]


def numbers_from(first: int, last: int) -> IntArray:
    """Return the whole numbers from `first` to before `last` (see `Gathered`)."""
    return gathered(np.arange(first + part.start, first + part.stop) for part in parts_of(last - first))


def gathered(parts: Iterable[Array]) -> Array:
    """Return parts of one dtype as one array (see `Gathered`)."""
    found = Gathered()
    for part in parts:
        found.add(part)
    return found.whole()


class Gathered:
    """Parts of an array, one after another. All have one dtype. A large array lies in a file (see `mapping_in`)."""

    def __init__(self) -> None:
        self._folder, self._parts, self._bytes = mapping_folder(), list[Array](), 0
        self._file: IO[bytes] | None = None

    def add(self, part: Array) -> None:
        self._parts.append(part)
        self._bytes += part.nbytes
        if self._folder is not None and (self._file or self._bytes > _MOST_IN_MEMORY):
            assert len({each.dtype for each in self._parts}) == 1
            with writing_in(self._folder):
                self._file = self._file or tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (`whole` closes it)
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
