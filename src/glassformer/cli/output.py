"""The only place that writes to the terminal: results to standard output, everything else to standard error.

Texts, labels and names may come from anywhere. Characters that steer a terminal never reach it. Plain output shows �
instead. JSON escapes them, and so stays exact.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from glassformer.cli.activity import ACTIVITY
from glassformer.cli.flags import as_flags
from glassformer.cli.torchrun import program
from glassformer.data.wording import UNSAFE
from glassformer.errors import GlassformerError, as_named

if TYPE_CHECKING:
    from pathlib import Path

    from glassformer.data.documents import Documents
    from glassformer.data.inputs import Inputs
    from glassformer.data.sources import SourceConfig, Sources
    from glassformer.data.splits import ValidationConfig
    from glassformer.doctor.findings import Finding

LONGEST_ERROR = 560

_BYTES = re.compile("[\udc80-\udcff]+")


def open_streams() -> None:
    """Let the streams of output be UTF-8 in any locale. Open /dev/null in place of a stream that is closed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:  # otherwise the next opened file would take its number
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if reconfigure := getattr(stream, "reconfigure", None):
            with suppress(OSError):  # a stream that was put in the place of a file cannot say where it stands
                reconfigure(encoding="utf-8", errors=errors)


def doing(what: str) -> None:
    """Set what the command does from now on, or how far it is. It is shown if it takes long, and not empty."""
    ACTIVITY.doing(one_line(without_control(as_named(what))))


def hush() -> None:
    """From now on, write only results and errors, as the user wants quiet."""
    ACTIVITY.hush()


def read_aloud(
    source: SourceConfig,
    validation: ValidationConfig,
    data_dir: Path | None,
    *,
    inputs: Inputs | None = None,
    notes: bool = True,
) -> Sources:
    """Read the tables of a run, say how the columns were found, and warn of one that may not be the right one."""
    from glassformer.data.column_kinds import without_words
    from glassformer.data.sources import read_sources
    from glassformer.targets.parts import part_of

    doing(f"reading {source.train}")
    sources = read_sources(source, validation, data_dir, inputs=inputs)
    train = sources.train
    for note in train.notes if notes else ():
        say_note(note)
    unread = None if train.inputs else without_words(train.frame["text"], train.text_column)
    for doubt in filter(None, (unread, *part_of(source.task, "training").doubts(train))):
        say(f"warning: {as_flags(doubt)}")
    return sources


def show(text: str = "", *, end: str = "\n") -> None:
    """Write a result to standard output."""
    with ACTIVITY.aside():
        sys.stdout.write(without_control(text) + end)
        if not end:  # the line goes on
            sys.stdout.flush()


class Piece(NamedTuple):
    """A piece of a text, and a key of `PAINTS`."""

    text: str
    paint: str


PAINTS = {
    "plain": "",
    "for": "34",
    "strongly for": "1;97;44",
    "against": "33",
    "strongly against": "1;30;43",
}  # blue and yellow: also the colour-blind tell them apart
"""The codes of colours (ECMA-48, SGR)."""


def show_painted(pieces: Iterable[Piece]) -> None:
    """Write pieces of a text to standard output, in colours if it is a terminal that has them, without NO_COLOR."""
    coloured = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
    with ACTIVITY.aside():
        for text, paint in pieces:
            code, shown = PAINTS[paint], without_control(text)
            sys.stdout.write(f"\x1b[{code}m{shown}\x1b[0m" if coloured and code else shown)


def say(text: str) -> None:
    """Write a message to standard error, unless the user wants quiet. If it cannot be written, the work goes on."""
    if not ACTIVITY.hushed:
        insist(text)


def announce(what: str) -> None:
    """Say what the command does from now on."""
    say(what)
    doing(what)


def say_note(note: str) -> None:
    """Write what was found in a table or a text, with the settings in it as flags."""
    say(as_flags(note))


def say_notes_of(texts: Iterable[Documents]) -> None:
    """Write what was found in sources of texts without labels."""
    for each in texts:
        for note in each.notes:
            say_note(f"{each.source}: {note}")


def insist(text: str) -> None:
    """Write a message to standard error even if the user wants quiet."""
    with ACTIVITY.aside(), suppress(OSError):
        sys.stderr.write(without_control(as_named(text)) + "\n")
        sys.stderr.flush()


def say_error(message: str) -> None:
    """Write what went wrong, on one line. A long message keeps its beginning (what, where) and its end (what to do)."""
    insist(f"error: {shortened(one_line(as_flags(message)), LONGEST_ERROR)}")


def print_json(document: Any) -> None:
    """Write the JSON document of a command to standard output."""
    try:
        text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError as error:
        raise GlassformerError(
            "a figure is NaN or infinite, so there is no JSON; leave out --json to see it"
        ) from error
    write_json(text + "\n")


def write_json(text: str) -> None:
    """Write JSON, or a part of it, to standard output."""
    with ACTIVITY.aside():
        sys.stdout.write(UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def write_table(text: bytes) -> None:
    """Write lines of CSV to standard output: exact for a file or a program, harmless for a terminal."""
    with ACTIVITY.aside():
        if sys.stdout.isatty():
            sys.stdout.write(without_control(text.decode("utf-8-sig")))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(text)


def print_table(lines: Sequence[Sequence[str]], *, others: Callable[[str, int], str] = str.rjust) -> None:
    """Write columns with aligned cells: the first to the left, the others as `others` aligns them."""
    lines = [[one_line(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        cells = [first.ljust(widths[0]), *map(others, rest, widths[1:])]
        show("  ".join(cells).rstrip())


def show_findings(findings: Sequence[Finding], *, brief: bool = False) -> None:
    """Write findings of `doctor` or `audit` by their level, each with its advice.

    Args:
        brief: name those that are good in one line.
    """
    from glassformer.doctor.findings import LEVELS

    for level in LEVELS:
        found = [finding for finding in findings if finding.level == level]
        if brief and level == "good" and found:
            show(f"\n{level}: {', '.join(finding.check for finding in found)} (--json shows the figures)")
            continue
        show(f"\n{level}: {len(found) or 'none'}")
        for finding in found:
            show(f"  {finding.check}: {finding.found}")
            if finding.advice:
                show(f"    → {finding.advice}")


def model_in_words(parameters: int, model: Any, device: str) -> str:
    """Return how large a model is, and where it is trained."""
    return f"{parameters:,} parameters ({model.in_words()}, window {model.max_seq_len:,} tokens), on {device}"


def one_line(text: str) -> str:
    """Return a text on one line and in one column: line breaks and tabs become \\n, \\r and \\t."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def without_control(text: str) -> str:
    """Return a text without characters that steer a terminal. Line breaks and tabs stay.

    Bytes of names that Python did not read as UTF-8, as in a locale that is ASCII, are letters if they are UTF-8.
    """
    return UNSAFE.sub("\ufffd", _BYTES.sub(lambda found: os.fsencode(found[0]).decode(errors="replace"), text))


def beginning(text: str, longest: int) -> str:
    """Return a text in one line, without its end if it is longer than `longest`."""
    words = " ".join(text.split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def shortened(text: str, longest: int) -> str:
    """Return a text without its middle if it is longer than `longest`."""
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 3
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def command_line(*, leave_out: str = "", add: str = "") -> str:
    """Return the command as it was typed, quoted for a shell, without the flag `leave_out` and with the flag `add`."""
    arguments = [argument for argument in sys.argv[1:] if argument not in (leave_out, add)]
    arguments = list(map(as_named, arguments))
    return f"{program()} {shlex.join([*arguments, *([add] if add else [])])}"
