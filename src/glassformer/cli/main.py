"""The `glassformer` command."""

from __future__ import annotations

import os
import sys

import typer

from glassformer.cli import data, evaluate, predict, recipes, train
from glassformer.cli.output import say
from glassformer.errors import GlassformerError

app = typer.Typer(
    name="glassformer",
    help="Transformer text classifiers you can see through.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help answers in a fraction of the time
    pretty_exceptions_enable=False,
)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.command("recipes")(recipes.recipes)
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
    try:
        app()
    except GlassformerError as error:
        say(f"error: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("stopped")
        sys.exit(1)
    except BrokenPipeError:  # the reader of a pipe went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # no space, no permission
        say(f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        sys.exit(1)
