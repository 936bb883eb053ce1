"""Read the lines of a file or a pipe, as bytes or as text. A line that is too long for memory is refused."""

from __future__ import annotations

import codecs
import io
import select
import shlex
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from glassformer.errors import UsageError

LONGEST = 2**24
"""The most bytes of a line, and the most characters of a row. The longest novels have half as many. Without a limit, a
compressed file of some megabytes could unpack to one huge line, and a quote that is never closed would make one row of
the rest of the file."""

STANDARD_INPUT = "standard input"
_PIECE = 2**16
_PATIENCE = 0.1  # seconds that a line may wait for others to go with it
_GAP = 0.02  # seconds without a byte after which no more are expected soon
_SIGNATURES = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; give it the extension .zip, .xlsx or .ods",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; give it the extension .xls",
    b"PAR1": "a Parquet file; give it the extension .parquet",
    b"\x1f\x8b": "compressed by gzip; add the extension .gz",
    b"BZh": "compressed by bzip2; add the extension .bz2",
    b"\xfd7zXZ": "compressed by xz; add the extension .xz",
    b"(\xb5/\xfd": "compressed by zstd; add the extension .zst",
    b"%PDF-": "a PDF; a table of texts is needed",
    b"\x89PNG": "a picture; a table of texts is needed",
    b"\xff\xd8\xff": "a picture; a table of texts is needed",
    b"SQLite format 3": "a SQLite database; give it the extension .sqlite",
}
_NO_CONTROL = bytes({0, *b"\t\n\v\f\r\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)})
_ZEROS_OF: dict[tuple[int, ...], str] = {  # where a header of Latin letters has its zero bytes, by fours
    (1, 3): "UTF-16LE",
    (0, 2): "UTF-16BE",
    (1, 2, 3): "UTF-32LE",
    (0, 1, 2): "UTF-32BE",
}
_UNPACKED_BY = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}


def lines_of(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines as text, without their line breaks.

    Args:
        name: the name of the stream in messages.

    Raises:
        UsageError: a line is not UTF-8, or longer than `LONGEST`.
    """
    for number, line in enumerate(bounded_lines(stream, name), 1):
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        yield decoded(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line, name, number)


def arriving_lines(stream: io.BufferedIOBase, name: str, *, most: int) -> Iterator[list[str]]:
    """Yield lists of at most `most` lines, without their line breaks. No line waits long for further lines.

    Args:
        name: the name of the stream in messages.

    Raises:
        UsageError: a line is not UTF-8, or longer than `LONGEST`. The lines before it have been yielded.
    """
    ready: list[bytes] = []
    begun: list[bytes] = []  # pieces of the line that has not ended
    done, since = 0, 0.0
    while piece := stream.read1(_PIECE):
        first, *others = piece.split(b"\n")
        begun.append(first)
        if sum(map(len, begun)) > LONGEST:
            yield from _decoded(ready, name, done)
            raise UsageError(f"{name}, line {done + len(ready) + 1} is longer than {LONGEST:,} bytes; break it")
        if others:
            since = since if ready else time.monotonic()
            ready += [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
        while len(ready) >= most or (ready and not _more_soon(stream, since)):
            yield from _decoded(ready[:most], name, done)
            done += len(ready[:most])
            ready, since = ready[most:], time.monotonic()
    if last := b"".join(begun):
        ready.append(last)
    yield from _decoded(ready, name, done)


def _more_soon(stream: io.BufferedIOBase, since: float) -> bool:
    """Whether more bytes are there, or arrive in a moment. False if lines have waited too long, from `since` on."""
    left = since + _PATIENCE - time.monotonic()
    if left <= 0:
        return False
    try:
        place = stream.fileno()
    except OSError:  # bytes in memory
        return True
    try:
        return bool(select.select([place], [], [], min(left, _GAP))[0])
    except (OSError, ValueError):  # on Windows, select works for sockets only
        return False


def _decoded(lines: list[bytes], name: str, done: int) -> Iterator[list[str]]:
    """Yield the lines as one list, or nothing if there is none. Before the error, yield those before a bad line."""
    texts: list[str] = []
    try:
        for number, line in enumerate(lines, done + 1):
            line = line.removesuffix(b"\r").removeprefix(codecs.BOM_UTF8 if number == 1 else b"")
            texts.append(decoded(line, name, number))
    except UsageError:
        if texts:
            yield texts
        raise
    if texts:
        yield texts


def bounded_lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines as bytes, with their line breaks, as they arrive.

    Raises:
        UsageError: a line is longer than `LONGEST`. The rest of it is not read.
    """
    for number, line in enumerate(iter(partial(stream.readline, LONGEST + 1), b""), 1):
        if len(line) > LONGEST:
            raise UsageError(
                f"{name}, line {number} is longer than {LONGEST >> 20} MiB, and no more of it was read. "
                f"Is it a table or a text? Break the line, or remove it."
            )
        yield line


def decoded(line: bytes, name: str, number: int) -> str:
    """Return the text of a line.

    Raises:
        UsageError: the line is not UTF-8.
    """
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        if _is_binary(line):
            raise UsageError(
                f"{name}, line {number}: control characters, and bytes that are not UTF-8, so this is not a text file. "
                f"Is it the right file?"
            ) from None
        raise UsageError(
            f"{name}, line {number}: byte {error.start + 1} of the line, 0x{line[error.start]:02x}, is not UTF-8. "
            f"{conversion(name, 'WINDOWS-1252')}"
        ) from None


def check_start(start: bytes, name: str) -> None:
    """Raise `UsageError` if the first bytes show that this is not a text file in UTF-8."""
    for signature, what in _SIGNATURES.items():
        if start.startswith(signature):
            raise UsageError(f"{name} is {what}.")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError(f"{name} is UTF-16. {conversion(name, 'UTF-16')}")
    mostly_zero = tuple(place for place in range(4) if start[place::4].count(0) * 4 > len(start) / 2)
    if encoding := _ZEROS_OF.get(mostly_zero):
        if _is_binary(bytes(byte for place, byte in enumerate(start) if place % 4 not in mostly_zero)):
            raise UsageError(f"{name} is not a text file: it is full of control characters. Is it the right file?")
        raise UsageError(f"{name} seems to be {encoding}. {conversion(name, encoding)}")


def _is_binary(line: bytes) -> bool:
    """Whether so many bytes are control characters, zero excepted, as in no text."""
    return len(line.translate(None, _NO_CONTROL)) > len(line) / 16  # in random bytes, a tenth


def conversion(name: str, encoding: str) -> str:
    """Return a sentence with the command that converts a file or a pipe to UTF-8."""
    command = f"iconv -f {encoding} -t UTF-8"
    if name == STANDARD_INPUT:
        return f"Convert it on its way: {command} | glassformer …"
    path = Path(name)
    if unpack := _UNPACKED_BY.get(path.suffix.lower()):
        return f"Convert it: {unpack} -dc {shlex.quote(name)} | {command} > {shlex.quote(f'utf8-{path.stem}')}"
    return f"Save it as UTF-8, or convert it: {command} {shlex.quote(name)} > {shlex.quote(f'utf8-{path.name}')}"
