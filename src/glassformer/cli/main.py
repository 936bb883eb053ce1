"""The `glassformer` command."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import typer

from glassformer.cli import (
    align,
    compare,
    compare_variants,
    data,
    doctor,
    evaluate,
    generate,
    learn_word,
    predict,
    pretrain,
    recipes,
    reproduce,
    train,
)
from glassformer.cli.output import say
from glassformer.errors import GlassformerError

_CTRL_C = 130  # what typer makes of it, as a shell does

app = typer.Typer(
    name="glassformer",
    help="Transformer text classifiers you can see through.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help answers in a fraction of the time
    pretty_exceptions_enable=False,
)
app.command("doctor")(doctor.doctor)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.command("compare-variants")(compare_variants.compare_variants)
app.command("predict")(predict.predict)
app.command("pretrain")(pretrain.pretrain)
app.command("generate")(generate.generate)
app.command("learn-word")(learn_word.learn_word)
app.command("reproduce")(reproduce.reproduce)
app.command("recipes")(recipes.recipes)
app.add_typer(align.app, name="align")
app.add_typer(data.app, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        from glassformer import __version__

        print(f"glassformer {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


def main() -> None:
    """Run a command; exit with 0, 1 (it failed) or 2 (misuse), and no traceback for a user's mistake."""
    # Threads that spin while they wait starve every other program on the machine, a second run most of all.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # JSON and tables are, whatever the locale
    with _remembered_ctrl_c() as stopped:
        try:
            try:
                app(prog_name="glassformer")
            finally:
                sys.stdout.flush()
        except (KeyboardInterrupt, SystemExit) as ended:
            if isinstance(ended, SystemExit) and ended.code != _CTRL_C:
                raise
            _stop()
        except Exception as error:
            if stopped.is_set():
                _stop()
            _fail(error)


@contextmanager
def _remembered_ctrl_c() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, beside what it did: an interrupt within an import may come back as any error."""
    stopped, before = threading.Event(), signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def remember(number: int, frame: FrameType | None) -> None:
        stopped.set()
        before(number, frame)

    signal.signal(signal.SIGINT, remember)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


def _stop() -> NoReturn:
    say("stopped")
    sys.exit(1)


def _fail(error: Exception) -> NoReturn:
    """Say what went wrong and exit; what is no one's mistake but ours is raised again."""
    if isinstance(error, GlassformerError):
        say(f"error: {error}")
        sys.exit(error.exit_code)
    if isinstance(error, OSError):  # no space, no permission; or the reader of a pipe went away, as `head` does
        if not isinstance(error, BrokenPipeError):
            say(f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        # What could not be written is not tried again on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    raise error
