"""The one place that writes to the terminal: results on standard output, everything else on standard error.

What is written may hold texts, labels and names from anywhere. Characters that steer a terminal never reach it: plain
output shows � for them, JSON escapes them and so stays exact.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from glassformer.cli.activity import ACTIVITY
from glassformer.cli.flags import as_flags
from glassformer.errors import GlassformerError

LONGEST_ERROR = 560

# C0 but tab and line break, DEL, C1, what turns the direction of text round, and bytes that were no UTF-8.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def open_streams() -> None:
    """Make standard output write UTF-8, whatever the locale, and put nothing (/dev/null) where a stream was closed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:  # else the next file that is opened would take its place
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(encoding="utf-8")


def doing(what: str) -> None:
    """What the command does from now on; shown where it takes long."""
    ACTIVITY.doing(one_line(without_control(what)))


def progressing(how_far: str) -> None:
    """How far it is with what the command does; nothing is shown where this is empty."""
    ACTIVITY.progress(one_line(without_control(how_far)))


def hush() -> None:
    """What the command does is not shown."""
    ACTIVITY.pause()


def show(text: str = "", *, end: str = "\n") -> None:
    """A result, on standard output."""
    with ACTIVITY.aside():
        sys.stdout.write(without_control(text) + end)
        if not end:  # a line that is still being written
            sys.stdout.flush()


def say(text: str) -> None:
    """A message for the person, on standard error. Nobody need listen: where it cannot be written, the work goes on."""
    with ACTIVITY.aside(), suppress(OSError):
        sys.stderr.write(without_control(text) + "\n")
        sys.stderr.flush()


def say_error(message: str) -> None:
    """What went wrong, on one line; the beginning says what and where, the end what to do."""
    say(f"error: {shortened(one_line(as_flags(message)), LONGEST_ERROR)}")


def print_json(document: Any) -> None:
    """The one JSON document of a command, on standard output.

    Raises:
        GlassformerError: a figure in it is NaN or infinite, which JSON does not have.
    """
    try:
        text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError as error:
        raise GlassformerError(
            "a figure is NaN or infinite, so there is no JSON; leave out --json to see it"
        ) from error
    write_json(text + "\n")


def write_json(text: str) -> None:
    """JSON, or a part of it, on standard output."""
    with ACTIVITY.aside():
        sys.stdout.write(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def write_table(text: bytes) -> None:
    """Lines of CSV on standard output: exact for a file or a program, harmless for a terminal."""
    with ACTIVITY.aside():
        if sys.stdout.isatty():
            sys.stdout.write(without_control(text.decode()))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(text)


def print_table(lines: Sequence[Sequence[str]], *, others: Callable[[str, int], str] = str.rjust) -> None:
    """Columns as wide as they need to be, the first to the left, the others to the right or as `others` says."""
    lines = [[one_line(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        cells = [first.ljust(widths[0]), *map(others, rest, widths[1:])]
        show("  ".join(cells).rstrip())


def one_line(text: str) -> str:
    """A text that keeps to its line and its column: breaks and tabs are shown as \\n, \\r and \\t."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def without_control(text: str) -> str:
    """A text that cannot steer the terminal; line breaks and tabs stay."""
    return _UNSAFE.sub("\ufffd", text)


def shortened(text: str, longest: int) -> str:
    """A text with its middle left out where it is longer than this."""
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 3
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def command_line(*, leave_out: str = "", add: str = "") -> str:
    """The command as it was typed, quoted for a shell; without one flag, with another."""
    arguments = [argument for argument in sys.argv[1:] if argument not in (leave_out, add)]
    return shlex.join(["glassformer", *arguments, *([add] if add else [])])


def human_count(number: int) -> str:
    """1,234,567 as it is read aloud in tables."""
    return f"{number:,}"


def duration(seconds: float) -> str:
    """75.2 → `1 min 15 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
