"""What every command shares: results on standard output, everything else on standard error, errors as one sentence."""

from __future__ import annotations

import json
import shlex
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any


def say(text: str) -> None:
    """A message for the person, on standard error."""
    print(text, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """The one JSON document of a command, on standard output."""
    print(json.dumps(document, ensure_ascii=False, indent=2))


def print_table(lines: Sequence[Sequence[str]], *, others: Callable[[str, int], str] = str.rjust) -> None:
    """Columns as wide as they need to be, the first to the left, the others to the right or as `others` says."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        cells = [first.ljust(widths[0]), *map(others, rest, widths[1:])]
        print("  ".join(cells).rstrip())


def one_line(text: str) -> str:
    """A text that keeps to its line and its column: breaks and tabs are shown as \\n, \\r and \\t."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def without_control(text: str) -> str:
    """A text that cannot steer the terminal: control characters but breaks and tabs become the sign for unreadable."""
    return "".join(one if one in "\n\t" or unicodedata.category(one) != "Cc" else "\ufffd" for one in text)


def command_line(*, leave_out: str = "", add: str = "") -> str:
    """The command as it was typed, quoted for a shell; without one flag, with another."""
    arguments = [one for one in sys.argv[1:] if one not in (leave_out, add)]
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
