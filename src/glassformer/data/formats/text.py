"""What the text formats share: lines of UTF-8, and the first one that is not blank."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from glassformer.data.formats.format import Place
from glassformer.data.lines import bounded_lines, check_start, decoded
from glassformer.errors import UsageError


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
def lines_at(place: Place) -> Iterator[Lines]:
    """Open a text file.

    Raises:
        UsageError: it is empty, is not UTF-8, or holds what no text holds.
    """
    with place.opened() as stream:
        raw_lines = bounded_lines(stream, place.name)
        start = next(raw_lines, b"")
        lines = _text(itertools.chain([start], raw_lines), place.name)
        blank, first = next(((blank, line) for blank, line in enumerate(lines) if line.strip()), (0, ""))
        if not first:
            raise UsageError(f"{place.name} is empty.")
        if "\r" in "".join(first.rstrip("\r\n").split('"')[::2]):
            raise UsageError(
                f"{place.name}: the lines end in carriage returns alone, as on old Macs. "
                f"Convert them, for example: tr '\\r' '\\n'"
            )
        whole = itertools.chain(itertools.repeat("\n", blank), [first], lines)
        yield Lines(first=first, whole=whole, mark=start.startswith(codecs.BOM_UTF8))


def _text(raw_lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, raw in enumerate(raw_lines, start=1):
        if number == 1:
            check_start(raw, name)
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if b"\0" in raw:
            raise UsageError(
                f"{name}, line {number}: a NUL byte, so this is not a text file. Is it a CSV, TSV or JSON file?"
            )
        yield decoded(raw, name, number)
