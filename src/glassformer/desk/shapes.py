"""What requests of the page hold."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from glassformer.serving.shapes import BodyOfRequest

MOST_AT_ONCE = 10_000  # texts that are labelled together
_LONGEST_NAME, _LONGEST_NOTE = 200, 2_000


class ColumnsChosen(BodyOfRequest):
    """Which columns of the table hold the texts and the labels."""

    text: str
    label: str | None = None


class Decided(BodyOfRequest):
    """What a person decided about some texts."""

    texts: list[int] = Field(min_length=1, max_length=MOST_AT_ONCE)
    kind: Literal["label", "skip", "unsure", "drop"]
    label: str | None = Field(default=None, max_length=_LONGEST_NAME)
    note: str = Field(default="", max_length=_LONGEST_NOTE)
    who: str = Field(max_length=_LONGEST_NAME)
    way: Literal["random", "any", "unsure", "second", "search", "alike", "doubt", "settle"]
    shown: bool = False


class Undone(BodyOfRequest):
    """Whose last decision is undone."""

    who: str = Field(max_length=_LONGEST_NAME)


class ClassChanged(BodyOfRequest):
    """A new class, or a class whose texts get another one, which may be new."""

    name: str = Field(min_length=1, max_length=_LONGEST_NAME)
    to: str | None = Field(default=None, min_length=1, max_length=_LONGEST_NAME)
    who: str = Field(max_length=_LONGEST_NAME)


class Settings(BodyOfRequest):
    """How the project is labelled."""

    twice: bool
