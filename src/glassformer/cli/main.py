"""The `glassformer` command."""

import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from glassformer.cli import align, data
from glassformer.cli.activity import ACTIVITY
from glassformer.cli.flags import as_flags
from glassformer.cli.hints import add_hint
from glassformer.cli.options import expanded
from glassformer.cli.output import doing, insist, one_line, open_streams, say_error, show
from glassformer.cli.resume import Stopped
from glassformer.cli.torchrun import begin, check_command, has_lost_a_process, let_first_speak
from glassformer.cli.waiting import wait_briefly
from glassformer.data.files import write_error
from glassformer.data.stopping import watched_signals
from glassformer.errors import GlassformerError, UsageError, hide_secrets, is_out_of_memory, is_out_of_threads, quoted

_COMMANDS = (
    "desk", "doctor", "labels", "train", "evaluate", "compare", "compare_variants", "search", "predict", "explain",
    "costs", "serve", "trace", "audit", "export", "pretrain", "embeddings", "distil", "generate", "learn_word",
    "reproduce", "course", "recipes", "verify", "version",
)  # fmt: skip
"""The commands in the order of --help. Each is a function in the file of its name."""
_CTRL_C = 130  # the exit code of typer and of shells
_LEFT_OUT = {"torch", "polars", "scipy", "sklearn", "jaxtyping"}  # an exported model answers without them
_LIGHT = ("costs", "predict", "explain", "serve", "version")  # the commands that answer without them
_READER_GONE = 141  # the exit code of any program in a pipe whose reader is gone


class _Sentences(TyperGroup):
    """Commands, of which --help shows the first sentence. Click would cut it to one line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for command in self.commands.values():
            if command.help:  # `python -OO` drops docstrings
                command.short_help = command.help.partition(".")[0] + "."
        super().format_commands(ctx, formatter)


app = typer.Typer(
    name="glassformer",
    cls=_Sentences,
    help="Transformer text classifiers you can see through.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help answers in a fraction of the time
    pretty_exceptions_enable=False,
)
for each in _COMMANDS:
    app.command(each.replace("_", "-"))(expanded(getattr(import_module(f"glassformer.cli.{each}"), each)))
app.add_typer(align.app, name="align", cls=_Sentences)
app.add_typer(data.app, name="data", cls=_Sentences)


def _show_version(wanted: bool) -> None:
    if wanted:
        from glassformer import __version__

        show(f"glassformer {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: bool = typer.Option(  # noqa: ARG001 (its callback answers)
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    check_command(context.invoked_subcommand)
    _check_installed(str(context.invoked_subcommand))


def _check_installed(command: str) -> None:
    """Refuse a command that needs PyTorch, if it is not installed. Its help can be read."""
    if command in _LIGHT or "--help" in sys.argv:
        return
    from glassformer.data.installed import is_installed

    if not is_installed("torch"):
        raise UsageError(
            f"`glassformer {command}` needs PyTorch, which glassformer-light leaves out; run it in an environment with "
            f"glassformer. Here, predict, explain and serve work with models that `glassformer export` wrote"
        )


def main() -> None:
    """Run a command. Exit with 0 (done), 1 (failed) or 2 (misuse), without a traceback for a user's mistake."""
    try:
        _run()
    finally:
        _leave_unwritten(sys.stdout)
        _leave_unwritten(sys.stderr)


def _run() -> None:
    wait_briefly()
    open_streams()
    begin()
    stopped_by: list[int] = []  # a signal during an import may be turned into any other error

    def remember(number: int) -> bool:
        stopped_by.append(number)
        return not has_lost_a_process()  # after a loss, torchrun stops all processes, and this one is about to end

    with watched_signals(remember):
        try:
            try:
                _check_arguments()
                _check_working_folder()
                with ACTIVITY.running("loading"):
                    _command()
            finally:
                sys.stdout.flush()
        except (KeyboardInterrupt, SystemExit) as ended:
            if isinstance(ended, Stopped) and stopped_by:
                ended.code = 128 + stopped_by[-1]  # Ray turns each signal into a Ctrl-C
            if isinstance(ended, Stopped) or (isinstance(ended, SystemExit) and ended.code != _CTRL_C):
                raise
            _stop(stopped_by)
        except BaseException as error:  # that of a library in Rust is no `Exception`
            if stopped_by and not has_lost_a_process():
                _stop(stopped_by)
            let_first_speak(error)
            _fail(error)


def _check_arguments() -> None:
    """Refuse arguments that are not UTF-8. They can name a file, but cannot be shown or kept in a model folder.

    Messages leave out passwords in addresses from now on.
    """
    for number, argument in enumerate(sys.argv[1:], 1):
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            with suppress(UnicodeError):  # its bytes are none in UTF-8
                named = quoted(os.fsencode(argument).decode())
                from glassformer.data.files import beyond_locale

                raise UsageError(f"argument {number}, {named}, {beyond_locale()}") from error
            raise UsageError(
                f"argument {number}, {argument!r}, is not UTF-8; rename the file, or convert the text"
            ) from error
        if (begin := argument.find("://")) > 0:
            from glassformer.data.addresses import watch, without_password

            watch(doing)
            with suppress(UsageError):  # whatever reads it says what is wrong
                without_password(argument[:begin].rpartition("=")[2] + argument[begin:])
        if ":/" in argument or argument.count(":") > 1 or argument.startswith("//"):
            hide_secrets(argument)


def _check_working_folder() -> None:
    """Refuse to work in a folder that was removed. There, libraries of PyTorch end the process."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("the folder that you are in was removed; go to another one (cd)") from error


def _command() -> NoReturn:
    """Run the command that was typed. Messages of typer are written like all other messages."""
    try:
        sys.exit(app(prog_name="glassformer", standalone_mode=False))
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # typer would exit with 1
            raise ended.__context__ from None
        raise
    except Exception as error:
        if (describe := getattr(error, "show", None)) is None:  # typer does not publish the classes of its errors
            raise
        add_hint(error)
        said = io.StringIO()
        describe(said)
        insist(said.getvalue().rstrip("\n"))
        sys.exit(getattr(error, "exit_code", 2))


def _stop(numbers: list[int]) -> NoReturn:
    insist("stopped")
    sys.exit(128 + (numbers or [signal.SIGINT])[-1])


def _fail(error: BaseException) -> NoReturn:
    """Say what went wrong, and exit. Raise the error again if it is a bug of ours."""
    if isinstance(error, GlassformerError):
        say_error(error.message)
        for line in error.typed:
            insist(one_line(as_flags(line)))
        sys.exit(error.exit_code)
    if is_out_of_memory(error):
        say_error("out of memory; close other programs, or use a smaller model, shorter texts or fewer texts")
        sys.exit(1)
    if is_out_of_threads(error):
        say_error("no more threads can be started; close other programs, or raise the limit on processes (ulimit -u)")
        sys.exit(1)
    number = write_error(error)
    if number is not None and not isinstance(error, OSError):  # of a library in Rust
        error = OSError(number, os.strerror(number))
    if isinstance(error, OSError):
        reader_gone = isinstance(error, BrokenPipeError)  # `head` has seen enough
        if not reader_gone:  # no space, no permission
            say_error(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        sys.exit(_READER_GONE if reader_gone else 1)
    missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else None
    if missing in _LEFT_OUT:
        say_error(_missing(missing))
        sys.exit(2)
    raise error


def _leave_unwritten(stream: TextIO) -> None:
    """Do not try again at exit to write what cannot be written: Python would end with an exit code of its own."""
    try:
        stream.flush()
    except OSError:
        with suppress(OSError):  # it is no file
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _missing(package: str) -> str:
    from glassformer.data.installed import pip_install

    if package == "polars":  # the only one that an extra of the light distribution adds
        return f"tables need Polars, which is not installed: {pip_install('tables')}"
    return f"this needs {package}, which is not installed; run it in an environment with glassformer"
