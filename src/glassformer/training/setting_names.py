"""What is said of settings that cannot be: which one a user may have meant, and why a value is refused."""

import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

OTHER_NAMES: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("setting_names.toml").read_text(encoding="utf-8")
)
"""The names of our settings in other libraries."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known setting that has this name in another library or a similar spelling, or None."""
    settings, written = set(known), name.lower().replace("-", "_")
    for ours, others in OTHER_NAMES.items():
        if ours in settings and written in others:
            return ours
    return next(iter(difflib.get_close_matches(written, sorted(settings), n=1)), None)


def complaint(found: Mapping[str, Any]) -> str:
    """Return why a value of a setting is refused, as one of pydantic's findings says it."""
    value, message = found["input"], found["msg"].removeprefix("Value error, ")
    if isinstance(value, float) and math.isnan(value):  # pydantic says that it should be less than some bound
        return "it must be a number"
    return plain(message)


_PLAIN = {
    "Input should": "it must",
    "should": "must",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "valid integer": "whole number",
    "valid number": "number",
    "a valid boolean": "true or false",
    "valid string": "text",
    "a valid dictionary": "names with values, such as {good = 2}",
}
"""The words of pydantic, and ours."""


def plain(message: str) -> str:
    """Return what pydantic says of a value in plain words, without how it tried to read it."""
    for theirs, ours in _PLAIN.items():
        message = message.replace(theirs, ours)
    message = re.sub(r"(whole number|number|true or false|text), (unable|got) .*", r"\1", message)
    return f"{message[:1].lower()}{message[1:]}"
