"""Where answers go: a file that is complete or not there, or standard output."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from glassformer.data.files import written_aside
from glassformer.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

WriteLines = Callable[[Iterable[str]], None]
WriteFrame = Callable[["pl.DataFrame"], None]

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".jsonl": None, ".ndjson": None}  # None: JSON lines


def check_out(out: Path) -> None:
    """Raises `UsageError` where a table cannot be written to this path."""
    if _kind(out) not in _SEPARATORS:
        raise UsageError(f"--out {out}: write answers as {', '.join(_SEPARATORS)}, each also with .gz")
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder; name a file in it")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")


def check_folder(out: Path, *, ours: str | None = None) -> None:
    """Raises `UsageError` where this path is a file and no folder; or, with the name of a file that an earlier call of
    ours left, a folder that holds others without it."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; name a folder")
    if ours is not None and out.is_dir() and any(out.iterdir()) and not (out / ours).is_file():
        raise UsageError(f"{out} is a folder with other files in it; choose an --out that is new or empty")


@contextmanager
def table_in_file(out: Path) -> Iterator[WriteFrame]:
    """Frame after frame into one file, written aside and renamed at the end."""
    with written_aside(out) as aside, gzip.open(aside, "wb") if out.suffix == ".gz" else aside.open("wb") as file:
        yield _frame_writer(file, _SEPARATORS[_kind(out)])


@contextmanager
def table_on_standard_output(*, json: bool) -> Iterator[WriteFrame]:
    """Frame after frame as CSV, or as the list of one JSON document."""
    if not json:
        yield _frame_writer(sys.stdout.buffer, ",")
        sys.stdout.buffer.flush()
        return
    with lines_on_standard_output(json=True) as write:

        def write_frame(frame: pl.DataFrame) -> None:
            _check_columns(frame, None)
            write(frame.write_ndjson().rstrip("\n").split("\n"))

        yield write_frame


@contextmanager
def lines_on_standard_output(*, json: bool) -> Iterator[WriteLines]:
    """Line after line, or with `json` each line as one entry of `{"answers": [...]}`; nothing is held in memory."""
    separator = '{"answers": [\n' if json else ""

    def write(lines: Iterable[str]) -> None:
        nonlocal separator
        for line in lines:
            sys.stdout.write(f"{separator}{line}" if json else f"{line}\n")
            separator = ",\n"

    yield write
    if json:
        sys.stdout.write("\n]}\n")


def _check_columns(frame: pl.DataFrame, separator: str | None) -> None:
    """A Parquet file may have columns that no text file can hold."""
    for name, dtype in frame.schema.items():
        if "Binary" in str(dtype) or (separator is not None and dtype.is_nested()):
            way_out = "leave it out" if "Binary" in str(dtype) else "leave it out, or write answers as .jsonl"
            raise UsageError(f"the column {name!r} holds {dtype}, which answers cannot keep in this format; {way_out}")


def _kind(out: Path) -> str:
    return out.with_suffix("").suffix if out.suffix == ".gz" else out.suffix


def _frame_writer(file: IO[bytes] | gzip.GzipFile, separator: str | None) -> WriteFrame:
    header = True

    def write(frame: pl.DataFrame) -> None:
        nonlocal header
        _check_columns(frame, separator)
        if separator is None:
            file.write(frame.write_ndjson().encode())
        else:
            file.write(frame.write_csv(include_header=header, separator=separator).encode())
        header = False

    return write
