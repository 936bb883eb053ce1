"""Read the lines of a file or a pipe, as bytes or as text. A line that is too long for memory is refused."""

from __future__ import annotations

import codecs
import io
import itertools
import select
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import AnyStr, BinaryIO

from glassformer.data.encodings import (
    WINDOW,
    Fallback,
    LineDecoder,
    encoding_of_start,
    is_binary,
    named_encoding,
    spelled,
    why_so,
)
from glassformer.errors import UsageError

LONGEST = 2**24
"""The most bytes of a line, and the most characters of a row. The longest novels have half as many. Without a limit, a
compressed file of some megabytes could unpack to one huge line, and a quote that is never closed would make one row of
the rest of the file."""

ROWS_WITHIN = "Of one object that holds all rows in its array NAME, `jq -c '.NAME[]'` gives each row a line of its own."
LONGEST_VALUE = 2**22
"""The most bytes of a value of a table, a thick novel. What is made of a text takes a few hundred times its size."""

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

OnNote = Callable[[str], None]


def lines_of(stream: BinaryIO, name: str, *, on_note: OnNote | None = None) -> Iterator[str]:
    """Yield the lines as text, without their line breaks.

    Args:
        on_note: called once, if the encoding is not UTF-8. None: only UTF-8 and `encoding=` are accepted, as a guess
            could not be said.

    Raises:
        UsageError: it is not UTF-8, though it has to be, or what `text_lines` raises.
    """

    def refuse(guess: str) -> None:
        raise UsageError(f"{name} has to be UTF-8, and could only be {guess}. Save it as UTF-8.")

    if on_note is None and named_encoding() is None:
        on_note = refuse
    for number, line in enumerate(text_lines(stream, name, on_note=on_note)):
        yield line.removesuffix("\n").removesuffix("\r").removeprefix("" if number else "\ufeff")


def text_lines(
    stream: BinaryIO, name: str, *, on_note: OnNote | None = None, in_pieces: bool = False,
    fallback: Fallback = lambda: None,
) -> Iterator[str]:  # fmt: skip
    """Yield the lines as text, with their line breaks and the byte order mark. Those of old Macs get a line feed.

    Args:
        in_pieces: a long line of what begins with [ may come in pieces, as one array of JSON may be one line.
        fallback: see `LineDecoder`.

    Raises:
        UsageError: the stream is not text, a line is longer than `LONGEST`, or bytes do not fit the encoding.
    """
    start = stream.readline(min(_PIECE, LONGEST + 1))
    check_start(start, name)
    if known := encoding_of_start(start):
        yield from _decoded_lines(_pieces(start, stream), name, known, on_note, in_pieces)
        return
    in_pieces = in_pieces and start.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")
    raw_lines = _lines_in_pieces(stream, name, start) if in_pieces else bounded_lines(stream, name, start=start)
    decoder = LineDecoder(name, on_note=on_note, fallback=fallback)
    numbered = _numbered(raw_lines)
    while found := next(numbered, None):
        number, raw = found
        if decoder.encoding is None and not raw.isascii():
            window, size = [found], 0
            while size < WINDOW and (more := next(numbered, None)):
                window.append(more)
                size += len(more[1])
            decoder.decide(window)
            numbered = itertools.chain(window[1:], numbered)
        yield decoder.line(raw, number)


def _numbered(raw_lines: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield each line or piece of a line with the number of the line."""
    number = 1
    for raw in raw_lines:
        yield number, raw
        number += raw.endswith(b"\n")


def _pieces(start: bytes, stream: BinaryIO | io.BufferedIOBase) -> Iterator[bytes]:
    if start:
        yield start
    yield from iter(partial(getattr(stream, "read1", stream.read), _PIECE), b"")


def _decoded_lines(
    pieces: Iterable[bytes], name: str, known: tuple[str, str], on_note: OnNote | None, in_pieces: bool = False
) -> Iterator[str]:
    """Yield the lines of a stream whose encoding is known before its lines are, as those of UTF-16."""
    encoding, note = known
    if on_note and note:
        on_note(note)
    decoder, number = codecs.getincrementaldecoder(encoding)(), 1

    def decoded(piece: bytes) -> str:
        nonlocal number
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            number += error.object[: error.start].decode(encoding, "ignore").count("\n")
            byte = f"the byte 0x{error.object[error.start]:02x}"
            raise UsageError(
                f"{name}, line {number}: {byte} does not fit {spelled(encoding)}, {why_so(encoding)}. Save it as UTF-8."
            ) from None
        number += text.count("\n")
        return text

    later = filter(None, map(decoded, itertools.chain(pieces, [b""])))
    start = next(later, "")
    texts = itertools.chain([start], later)
    in_pieces = in_pieces and start.removeprefix("\ufeff").lstrip().startswith("[")
    yield from _split(
        (text.replace("\r", "\n") for text in texts) if _is_old_mac(start) else texts, name, "\n", in_pieces=in_pieces
    )


def _split(pieces: Iterable[AnyStr], name: str, feed: AnyStr, *, in_pieces: bool = False) -> Iterator[AnyStr]:
    """Yield the lines of a stream with their line breaks. Raises `UsageError` if one is longer than `LONGEST`."""
    held, number = feed[:0], 1
    for piece in pieces:
        whole = (held + piece).split(feed)
        held = whole.pop()
        for line in whole:
            yield line + feed
        number += len(whole)
        if len(held) > LONGEST:
            raise UsageError(_too_long(name, number))
        if in_pieces and held:
            yield held
            held = feed[:0]
    if held:
        yield held


def _is_old_mac(start: str | bytes) -> bool:
    """Whether the first lines end in carriage returns alone."""
    text = start.decode("latin-1") if isinstance(start, bytes) else start
    first = text.partition("\n")[0].removesuffix("\r")
    return "\r" in "".join(first.split('"')[::2])


def arriving_lines(
    stream: io.BufferedIOBase, name: str, *, most: int, on_note: OnNote | None = None
) -> Iterator[list[str]]:
    """Yield lists of at most `most` lines, without their line breaks. No line waits long for further lines.

    Args:
        on_note: called once, if the encoding is not UTF-8. It is found by the lines that have arrived.

    Raises:
        UsageError: a line is longer than `LONGEST`, or does not fit the encoding. Those before it have been yielded.
    """
    decoder = LineDecoder(name, on_note=on_note)
    ready: list[bytes] = []
    begun: list[bytes] = []  # pieces of the line that has not ended
    done, since = 0, 0.0
    start = stream.read1(_PIECE)
    if known := encoding_of_start(start):
        lines = _decoded_lines(_pieces(start, stream), name, known, on_note)
        while batch := [line.rstrip("\r\n").removeprefix("\ufeff") for line in itertools.islice(lines, most)]:
            yield batch
        return
    for piece in _pieces(start, stream):
        first, *others = piece.split(b"\n")
        begun.append(first)
        if sum(map(len, begun)) > LONGEST:
            yield from _decoded(ready, decoder, done)
            raise UsageError(f"{name}, line {done + len(ready) + 1} is longer than {LONGEST:,} bytes; break it")
        if others:
            since = since if ready else time.monotonic()
            ready += [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
        while len(ready) >= most or (ready and not _more_soon(stream, since)):
            yield from _decoded(ready[:most], decoder, done)
            done += len(ready[:most])
            ready, since = ready[most:], time.monotonic()
    if last := b"".join(begun):
        ready.append(last)
    yield from _decoded(ready, decoder, done)


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


def _decoded(lines: list[bytes], decoder: LineDecoder, done: int) -> Iterator[list[str]]:
    """Yield the lines as one list, or nothing if there is none. Before the error, yield those before a bad line."""
    texts: list[str] = []
    try:
        for number, line in enumerate(lines, done + 1):
            if decoder.encoding is None and not line.isascii():
                decoder.decide(list(enumerate(lines[number - done - 1 :], number)))
            texts.append(decoder.line(line.removesuffix(b"\r"), number).removeprefix("\ufeff" if number == 1 else ""))
    finally:
        if texts:
            yield texts


def bounded_lines(stream: BinaryIO, name: str, *, start: bytes) -> Iterator[bytes]:
    """Yield the lines as bytes, with their line breaks, as they arrive. Those of old Macs get a line feed.

    Args:
        start: what was read of the stream already: its first line, or the beginning of it.

    Raises:
        UsageError: a line is longer than `LONGEST`. The rest of it is not read.
    """
    if _is_old_mac(start):
        yield from _split((piece.replace(b"\r", b"\n") for piece in _pieces(start, stream)), name, b"\n")
        return
    first = start if start.endswith(b"\n") else start + stream.readline(max(0, LONGEST + 1 - len(start)))
    lines = itertools.chain([first] if first else [], iter(partial(stream.readline, LONGEST + 1), b""))
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST:
            of_json = {b"[": " `jq -c .[]` gives each object of an array a line of its own.", b"{": f" {ROWS_WITHIN}"}
            raise UsageError(_too_long(name, number) + of_json.get(start.lstrip()[:1], ""))
        yield line


def _lines_in_pieces(stream: BinaryIO, name: str, start: bytes) -> Iterator[bytes]:
    """Yield the lines as `bounded_lines` does, but long ones in pieces that end in a comma, where no character is cut.

    Raises:
        UsageError: there is no comma for long.
    """
    held, number = b"", 1
    for piece in itertools.chain([start], iter(partial(stream.readline, _PIECE), b"")):
        end = len(piece) if piece.endswith(b"\n") else piece.rfind(b",") + 1
        if end:
            yield held + piece[:end]
            number += piece.endswith(b"\n")
        held = piece[end:] if end else held + piece
        if len(held) > LONGEST:
            raise UsageError(_too_long(name, number))
    if held:
        yield held


def _too_long(name: str, number: int) -> str:
    return (
        f"{name}, line {number} is longer than {LONGEST >> 20} MiB, and no more of it was read. Is it a table or a "
        "text? Break the line, or remove it."
    )


def check_start(start: bytes, name: str) -> None:
    """Raise `UsageError` if the first bytes show that this is not a text file."""
    for signature, what in _SIGNATURES.items():
        if start.startswith(signature):
            raise UsageError(f"{name} is {what}.")
    mostly_zero = {place for place in range(4) if start[place::4].count(0) * 4 > len(start) / 2}
    if mostly_zero and is_binary(bytes(byte for place, byte in enumerate(start) if place % 4 not in mostly_zero)):
        raise UsageError(f"{name} is not a text file: it is full of control characters. Is it the right file?")
