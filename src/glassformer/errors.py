"""Errors for users. A message says what was wrong, where, and what to do.

The command line prints the message without a traceback, and exits with the `exit_code` of the class.
"""

import reprlib
from collections.abc import Sequence

_LONGEST = 80
_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = _LONGEST


def brief(text: str) -> str:
    """What others wrote, for a message: its beginning, on one line."""
    beginning = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return beginning if beginning.isprintable() else repr(beginning)[1:-1]


def brief_value(value: object) -> str:
    """A value for a message: the beginning of how Python writes it."""
    try:
        return brief(_BRIEF.repr(value))
    except Exception:  # a class of another's; an integer of thousands of digits
        return f"a value of type {type(value).__name__}"


class GlassformerError(Exception):
    """The work failed: for example, a folder is damaged. The command line exits with 1.

    Args:
        message: a sentence or two that say what was wrong, where, and what to do.
        listing: lines to show below the message.
    """

    exit_code = 1

    def __init__(self, message: str = "", listing: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *listing]))
        self.message = message
        self.listing = tuple(listing)


class UsageError(GlassformerError):
    """The request is wrong: for example, a setting, a file, a column or a recipe. The command line exits with 2."""

    exit_code = 2


class InputError(UsageError, ValueError):
    """Texts, labels or weights that cannot be used. It is also a `ValueError`, as scikit-learn expects."""


def quoted(value: object, *, most: int = 60) -> str:
    """Format a name or value of the user for a message: in quotes, on one line, and shortened if it is long."""
    text = str(value)
    return repr(text if len(text) <= most else f"{text[: most - 1]}…")
