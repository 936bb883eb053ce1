"""What a format of tables is, and the place that it reads from."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypedDict

import polars as pl

from glassformer.data.encodings import Fallback
from glassformer.data.formats.compressions import opened
from glassformer.data.lines import OnNote

LOCK = "~$"
"""With it begins the name of a file that Excel keeps beside a workbook while it is open."""
_OF_WINDOWS = ("desktop.ini", "thumbs.db")  # it hides them by a mark that other systems do not know


def is_hidden(path: Path) -> bool:
    """Whether a file is not part of a table: other programs leave files such as _SUCCESS beside those they write."""
    return path.name.startswith((".", "_", LOCK)) or path.name.lower() in _OF_WINDOWS


@dataclass(frozen=True, kw_only=True)
class Delimited:
    """How the rows of a text file are written.

    Attributes:
        mark: whether it begins with a byte order mark.
        decimal_comma: whether its numbers are written as 0,5.
        records: of JSON, the rows of the last frame, each as text, as frames hold it, and as it stands in the file.
        within: of JSON, the columns that are values of objects, such as `review.text`, each with its key in `records`.
    """

    separator: str = ","
    mark: bool = False
    decimal_comma: bool = False
    line_end: str = "\n"
    records: deque[tuple[dict[str, str | None], dict[str, Any]]] = field(
        default_factory=deque, compare=False, repr=False
    )
    within: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def as_csv(self) -> Delimited:
        """How a CSV of other rows is written for the same program: with a separator in place of tabs."""
        separator = self.separator if self.separator != "\t" else ";" if self.decimal_comma else ","
        return replace(self, separator=separator, records=deque(), within={})


class Heard(TypedDict, total=False):
    """What a caller hears of a table while it is read, and what it tells about it."""

    on_delimited: Callable[[Delimited], None] | None
    """Called for a CSV, a TSV or JSON, before its first frame."""
    on_note: OnNote | None
    """Called with sentences on what was found, before the frame where it was found or after the last one."""
    fallback: Fallback
    """Of a text, gives its encoding if it is not UTF-8, as other files tell it (see `LineDecoder`)."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a table is read.

    Attributes:
        name: what the user wrote, for messages.
        file: a file, which may be compressed if the format is text; or a stream of bytes that are not compressed.
        part: which table of the file, if the user named one.
        on_delimited, on_note, fallback: see `Heard`.
    """

    name: str
    file: Path | BinaryIO
    part: str | None = None
    on_delimited: Callable[[Delimited], None] | None = None
    on_note: OnNote | None = None
    fallback: Fallback = lambda: None

    @property
    def path(self) -> Path:
        """The file. Formats that are not text are read from files alone."""
        assert isinstance(self.file, Path)
        return self.file

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the decompressed bytes. A stream that was passed in stays open."""
        if not isinstance(self.file, Path):
            yield self.file
        elif self.file == Path("-"):
            yield sys.stdin.buffer
        else:
            with opened(self.file) as stream:
                yield stream


class Format(ABC):
    """A way in which a file holds a table. There is one object of each.

    Attributes:
        name: in messages, and of the file that is written like it.
        extensions: in lower case, with their dots.
        is_text: whether it is read line by line, so that it may be compressed.
        written: the extension of a table that is written like one of this format. Empty: its own.
        parts: what the parts of a file are called that `#` names, such as "sheet". Empty: a file is one table.
    """

    name: str
    extensions: tuple[str, ...]
    is_text = False
    written = ""
    parts = ""

    @abstractmethod
    def batches(self, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        """Yield frames of at most so many rows. The columns of text formats are String.

        Raises:
            UsageError: the file is malformed. The message says where.
            Exception: one of `DAMAGE`, for a damaged file.
        """
