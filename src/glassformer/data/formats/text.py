"""What the text formats share: lines, whatever their encoding, and the first one that is not blank."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from glassformer.data.formats.format import Format, Place
from glassformer.data.lines import text_lines
from glassformer.errors import UsageError

_END_OF_DOS = "\x1a"


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The lines of a text file.

    Attributes:
        first: the first one that is not blank.
        whole: all lines, that one included.
        mark: whether the file begins with a byte order mark.
    """

    first: str
    whole: Iterator[str]
    mark: bool


@contextmanager
def lines_at(place: Place, *, in_pieces: bool = False) -> Iterator[Lines]:
    """Open a text file.

    Args:
        in_pieces: see `text_lines`.

    Raises:
        UsageError: it is empty, its bytes fit no encoding, or it holds what no text holds.
    """
    with place.opened() as stream:
        found = text_lines(stream, place.name, on_note=place.on_note, in_pieces=in_pieces, fallback=place.fallback)
        marked = _checked(found, place.name)
        start = next(marked, "")
        lines = itertools.chain([start.lstrip("\ufeff")], marked)
        blank, first = next(((blank, line) for blank, line in enumerate(lines) if line.strip()), (0, ""))
        if not first:
            raise UsageError(f"{place.name} is empty.")
        whole = itertools.chain(itertools.repeat("\n", blank), [first], lines)
        yield Lines(first=first, whole=whole, mark=start.startswith("\ufeff"))


def _checked(lines: Iterator[str], name: str) -> Iterator[str]:
    """Yield lines that hold no NUL, without the last one if it is the mark by which DOS ends a text."""
    number, held = 1, ""
    for line in lines:
        if held:
            yield held
        if "\0" in line:
            raise UsageError(
                f"{name}, line {number}: a NUL byte, so this is not a text file. Is it a CSV, TSV or JSON file?"
            )
        number += line.endswith("\n")
        held = line if line.rstrip("\r\n") == _END_OF_DOS else ""
        if not held:
            yield line


class TextFormat(Format):
    """What the text formats have in common."""

    is_text = True
    in_pieces = False

    def batches(self, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        with lines_at(place, in_pieces=self.in_pieces) as lines:
            yield from self.of_lines(lines, place, rows_per_batch)

    @abstractmethod
    def of_lines(self, lines: Lines, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        """Yield the batches of lines."""
