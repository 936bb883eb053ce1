"""Frames whose columns lie in mapped files: the system may drop them from memory, and reads them again.

Polars maps no file, but takes strings of others by Arrow's C data interface, and does not copy them. A string is a view
of 16 bytes there: its length, and the string itself, or its beginning and where it lies among the bytes of all.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from glassformer.data.arrays import Array, IntArray
from glassformer.data.files import writing_in

_FOLDER: ContextVar[Path | None] = ContextVar("folder", default=None)
_BYTES_AT_ONCE = 16 << 20
_ALIGNED = 64
_WITHIN = 12  # bytes of a string that its view has room for
_MOST_BYTES = 2**31 - 1  # of the strings of one part, as 32 bits say where each lies


@contextmanager
def mapping_in(folder: Path) -> Iterator[None]:
    """Meanwhile, large frames lie in files of this folder, or of the first one above it that exists.

    The files have no names: they are gone with the frames, also if the process is killed. If nothing can be written
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
    before = _FOLDER.set(there)
    try:
        yield
    finally:
        _FOLDER.reset(before)


def mapping_folder() -> Path | None:
    """Return the folder of `mapping_in`. None: memory holds all."""
    return _FOLDER.get()


def mapped(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of all parts as one frame. A large one lies in a file (see `mapping_in`)."""
    waiting, size, folder, file = list[pl.DataFrame](), 0, mapping_folder(), None
    for part in parts:
        waiting.append(part)
        size += int(part.estimated_size())
        if folder is not None and size > _BYTES_AT_ONCE:
            file = file or _Columns(folder)
            file.write(pl.concat(waiting))
            waiting, size = [], 0
    if file is None:
        return pl.concat(waiting)
    if waiting:
        file.write(pl.concat(waiting))
    return file.frame()


def filtered(frame: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """Return the rows where this mask is True. Those of a large frame lie in a file (see `mapping_in`)."""
    parts = int(frame.estimated_size()) // _BYTES_AT_ONCE
    if mapping_folder() is None or not parts:
        return frame.filter(rows)
    at_once = -(-frame.height // parts)
    starts = range(0, frame.height, at_once)
    return mapped(frame[start : start + at_once].filter(rows[start : start + at_once]) for start in starts)


Reading = Callable[[Array], pl.Series]
"""Returns a column, given the bytes of the file that it lies in."""


class _Columns:
    """The columns of a frame in a file, part by part.

    Strings, row numbers and weights lie there. Others, and those with nulls, stay in memory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with writing_in(folder):
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (`frame` closes it)
        self._parts: list[list[Reading]] = []

    def write(self, part: pl.DataFrame) -> None:
        with writing_in(self._folder):
            self._parts.append([self._column(column) for column in part.rechunk().iter_columns()])
            self._file.flush()

    def frame(self) -> pl.DataFrame:
        """Return all parts. Nothing can be written then."""
        with self._file:  # the map keeps what it needs of it
            whole = np.memmap(self._file, np.uint8, "r") if self._file.tell() else np.zeros(0, np.uint8)
        return pl.concat([pl.DataFrame([read(whole) for read in part]) for part in self._parts], rechunk=False)

    def _column(self, column: pl.Series) -> Reading:
        name, lengths = column.name, column.str.len_bytes() if column.dtype == pl.String else None
        if column.has_nulls() or (lengths is None and column.dtype not in (pl.UInt32, pl.Float64)):
            return lambda _: column
        if lengths is None:
            numbers = self._array(column.to_numpy())
            return lambda whole: pl.Series(name, numbers(whole))
        ends = np.cumsum(np.append(0, lengths.to_numpy()), dtype=np.int64)
        if ends[-1] > _MOST_BYTES:
            return lambda _: column
        joined = np.frombuffer(column.str.join("").cast(pl.Binary)[0], np.uint8)
        views, characters = self._array(_views(joined, ends)), self._array(joined)
        return lambda whole: pl.Series(_Strings(views(whole), characters(whole))).alias(name)

    def _array(self, values: Array) -> Callable[[Array], Array]:
        """Write an array. Return what gives it, given all bytes of the file."""
        self._file.write(bytes(-self._file.tell() % _ALIGNED))
        start = self._file.tell()
        self._file.write(np.ascontiguousarray(values).data)
        end, dtype, shape = self._file.tell(), values.dtype, values.shape
        return lambda whole: np.asarray(whole[start:end]).view(dtype).reshape(shape)


def _views(joined: Array, ends: IntArray) -> Array:
    """Return the views of strings that follow each other: (strings, 16) bytes."""
    starts, lengths = ends[:-1], np.diff(ends)
    views = np.zeros((len(lengths), 4 + _WITHIN), np.uint8)
    numbers = views.view("<u4")  # the length; then a short string, or four bytes of it, which bytes, and where in them
    numbers[:, 0] = lengths
    for place in range(_WITHIN):
        has = np.flatnonzero(lengths > place)
        views[has, 4 + place] = joined[starts[has] + place]
    long = np.flatnonzero(lengths > _WITHIN)
    numbers[long, 2], numbers[long, 3] = 0, starts[long]
    return views


# Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): its two structures, as words.

_SCHEMA, _ARRAY = ctypes.c_int64 * 9, ctypes.c_int64 * 10
_RELEASE_OF_SCHEMA, _RELEASE, _OWN = 7, 8, 9
_FORMAT = ctypes.create_string_buffer(b"vu")  # strings by views
_HELD: dict[int, Any] = {}
_KEYS = count(1)


def _release_schema(address: int, words: Any = _SCHEMA) -> None:
    words.from_address(address)[_RELEASE_OF_SCHEMA] = 0


def _release(address: int, words: Any = _ARRAY, held: dict[int, Any] = _HELD) -> None:
    array = words.from_address(address)
    held.pop(array[_OWN])
    array[_RELEASE] = 0


def _lasting(function: Callable[..., None]) -> int:
    """Return the address of a function, which stays: a frame may outlive this module."""
    called = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(called))
    return ctypes.cast(called, ctypes.c_void_p).value or 0


_ON_RELEASE_OF_SCHEMA, _ON_RELEASE = map(_lasting, (_release_schema, _release))
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class _Strings:
    """Strings that Polars takes as they lie. It says when it has dropped them, and they are held until then."""

    def __init__(self, views: Array, joined: Array) -> None:
        key, sizes = next(_KEYS), np.array([joined.nbytes])
        buffers = np.array([0, views.ctypes.data, joined.ctypes.data, sizes.ctypes.data])  # no nulls
        _HELD[key] = (views, joined, sizes, buffers)
        text = ctypes.addressof(_FORMAT)
        self._schema = _SCHEMA(text, text, 0, 0, 0, 0, 0, _ON_RELEASE_OF_SCHEMA, 0)
        self._array = _ARRAY(len(views), 0, 0, len(buffers), 0, buffers.ctypes.data, 0, 0, _ON_RELEASE, key)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        array, schema = map(ctypes.addressof, (self._array, self._schema))
        return _capsule(schema, b"arrow_schema", None), _capsule(array, b"arrow_array", None)
