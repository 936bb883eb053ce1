"""Read the lines of a pipe as they arrive."""

from __future__ import annotations

import codecs
import io
import select
import time
from collections.abc import Iterator

from glassformer.data.lines import LONGEST, decoded
from glassformer.errors import UsageError

_PIECE = 2**16
_PATIENCE = 0.1  # seconds that a line may wait for others to go with it
_GAP = 0.02  # seconds without a byte after which no more are expected soon


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
