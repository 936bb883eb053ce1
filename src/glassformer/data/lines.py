"""The lines of a pipe or a plain file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from glassformer.errors import UsageError


def lines_of(stream: BinaryIO, name: str) -> Iterator[str]:
    """The lines without their breaks.

    Args:
        name: what messages call the stream.

    Raises:
        UsageError: one is not UTF-8.
    """
    for number, line in enumerate(stream, 1):
        try:
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{name}, line {number}: byte {error.start + 1} of the line is not UTF-8. "
                f"Convert it, for example: iconv -f WINDOWS-1252 -t UTF-8"
            ) from error
        yield text
