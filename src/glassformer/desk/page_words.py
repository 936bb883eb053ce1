"""What the page calls the settings that sentences of the library name."""

from __future__ import annotations

import re

_NAMES = {
    "text": "Texts",
    "label": "Labels",
    "task": "Each text gets",
    "columns": "All columns",
    "lower": "All columns",
    "levels": "Between two levels",
}
_VALUES = {
    "classes": "one class",
    "several": "several classes, or none",
    "ordered": "one of ordered classes",
    "number": "a number",
}
_SETTING = re.compile(rf"`({'|'.join(_NAMES)})=([^`]*)`")


def in_page_words(said: str) -> str:
    """Name the fields of the step Open in the place of settings: `text=` is “Texts” there."""
    return _SETTING.sub(_named, said)


def _named(found: re.Match[str]) -> str:
    value = found[2].strip("'\"")
    return f"“{_NAMES[found[1]]}”" + (f" ({_VALUES.get(value, value)})" if value else "")
