"""Hints for common slips: an option of another program, a decimal comma, a model folder and a table swapped."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from glassformer.errors import UsageError, quoted
from glassformer.training.setting_names import nearest, plain

_EXAMPLES = {"it must be a number": "such as 3 or 1.5", "it must be a whole number": "such as 3"}
_EXTRA = re.compile(r"unexpected extra argument\S* \((.+)\)")
_TAKE_TEXTS = {"explain", "generate", "predict", "trace"}


def add_hint(error: Exception) -> None:
    """Add to an error of typer what the user may have meant. Typer does not publish the classes of its errors."""
    if hasattr(error, "possibilities") and _begins_a_text(error):
        return
    if getattr(error, "possibilities", None) is not None:
        _suggest_option(error)
    elif getattr(error, "option_name", None) == "--next" and "requires" in getattr(error, "message", ""):
        error.message = "--next: give a number and a table, as in --next 50 more.csv"  # type: ignore[attr-defined]
    else:
        said = str(getattr(error, "message", ""))
        if said.startswith("Input should"):
            words = plain(said)
            example = f", {_EXAMPLES[words]}" if words in _EXAMPLES else ""
            error.message = f"{_typed(error)}{words}{example}"  # type: ignore[attr-defined]
        elif (extra := _EXTRA.search(said)) and any(map(is_file, (extra[1], *extra[1].split()))):
            error.message = f"{said}; to read several tables as one, put them into a folder and name that"  # type: ignore[attr-defined]


def _typed(error: Any) -> str:
    """Return the value of the refused option, as it was typed, and a colon."""
    options = getattr(getattr(error, "param", None), "opts", ())
    typed = ""
    for argument, following in zip(sys.argv, (*sys.argv[1:], ""), strict=True):
        name, sign, value = argument.partition("=")
        if name in options:  # of several, the last one counts
            typed = f"{quoted(value if sign else following)}: "
    return typed


def _begins_a_text(error: Any) -> bool:
    """Say how to give a text that begins with -, if the unknown option may be one."""
    typed = str(error.option_name)
    given = next((argument for argument in sys.argv[1:] if argument.startswith(typed)), typed)
    may_be = " " in given or (len(given) > len("-x") and not given.startswith("--"))
    if error.ctx is None or error.ctx.command.name not in _TAKE_TEXTS or not may_be:
        return False
    error.message += f". A text that begins with - stands after --, as in: -- {shlex.quote(given)}"
    return True


def _suggest_option(error: Exception) -> None:
    typed, context = str(getattr(error, "option_name", "")), getattr(error, "ctx", None)
    if context is None:
        return
    known = {name.lstrip("-").replace("-", "_"): name for option in context.command.params for name in option.opts}
    if meant := nearest(typed.lstrip("-"), known):
        error.possibilities = [known[meant]]  # type: ignore[attr-defined]
    elif "set" in known:
        error.message += (  # type: ignore[attr-defined]
            ". Settings without an option of their own are set with --set section.key=value "
            "(`glassformer recipes default` lists them)"
        )


def check_order(model: Path, data: str | Path, *, option: str = "") -> None:
    """Raise `UsageError` if the model and the table of a command stand in each other's place.

    Args:
        option: the option that takes the table, with a space after it; empty if the table needs none.
    """
    if model.is_file() and os.path.isdir(data):  # noqa: PTH112 (see `is_file`)
        raise UsageError(
            f"{model} is a file and {data} is a folder; give the model folder first, then the table: "
            f"{data} {option}{model}"
        )


def is_file(text: str) -> bool:
    """Whether this is the path of a file. It may be too long for a path."""
    return os.path.isfile(text)  # noqa: PTH113 (the one of pathlib fails then)
