import io
import json
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any
from unittest.mock import patch

import typer.main
from typer.core import TyperGroup

from glassformer.cli import activity
from glassformer.cli.live import LiveView
from glassformer.cli.main import app, main

QUICK = (
    "--preset", "tiny", "--set", "training.epochs=1", "--set", "training.min_steps_per_epoch=5",
    "--set", "validation.min_rows=200",
)  # fmt: skip
OF_FEW_ROWS = (*QUICK, "--set", "validation.min_rows=10")
"""The same for a small table, without cross-fitting."""


parser = cache(typer.main.get_command)
"""typer would build the parser of all commands anew for each."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a command left: its exit code, and what stood on standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


def glassformer(*arguments: object, stdin: bytes = b"") -> Outcome:
    """Run a command as the shell would, in this process: torch is imported once for all tests."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        patch.object(typer.main, "get_command", parser),
        patch.object(activity, "_SAID_AFTER", 3600),  # a busy machine says nothing more than an idle one
        patch.object(sys, "argv", ["glassformer", *map(str, arguments)]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code: Any = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    texts = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        texts.append(stream.buffer.getvalue().decode())
    return Outcome(code=code, out=texts[0], err=texts[1])


@contextmanager
def ctrl_c(step: int) -> Iterator[None]:
    """Ctrl-C is pressed once, after so many steps of training."""
    steps, on_step = count(1), LiveView.on_step

    def stop(self: LiveView, report: Any) -> None:
        on_step(self, report)
        if next(steps) == step:
            signal.raise_signal(signal.SIGINT)

    with patch.object(LiveView, "on_step", stop):
        yield


def plain(shown: str) -> str:
    """What a terminal shows, without its control codes and with a line for each frame."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "\n")


def misused(outcome: Outcome, *words: str) -> None:
    """Exit code 2, nothing on standard output, and one message with these words."""
    failed(outcome, *words, code=2)


def failed(outcome: Outcome, *words: str, code: int = 1) -> None:
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.count("error: ") == 1, outcome.err
    assert "Traceback" not in outcome.err
    for word in words:
        assert word in outcome.err, f"{word!r} is not in {outcome.err!r}"


def commands() -> Iterator[tuple[str, Any]]:
    """Every command by name, `data get` and the like included."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    for name, command in root.commands.items():
        if isinstance(command, TyperGroup):
            yield from ((f"{name} {below}", inner) for below, inner in command.commands.items())
        else:
            yield name, command
