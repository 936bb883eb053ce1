"""What requests of the page hold."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from glassformer.data.sources import Task
from glassformer.serving.shapes import BodyOfRequest

MOST_AT_ONCE = 10_000  # texts that are labelled together
LONGEST_NAME, _LONGEST_NOTE = 200, 2_000
_HIGHEST_COST = 1e9
_LONGEST_RULES = 100_000  # characters: the page gets them with each state


class ColumnsChosen(BodyOfRequest):
    """Which columns of the table hold the texts and the labels."""

    text: str
    label: str | None = None
    task: Task
    levels: str | None = Field(default=None, min_length=1, max_length=LONGEST_NAME)
    """What separates two levels of a class."""
    lower: list[str] = Field(default=[])
    """The columns of the levels below that of the label."""
    other_texts: list[str] = Field(default=[])
    columns: list[str] = Field(default=[])


class Viewer(BodyOfRequest):
    """Who is shown texts, and whether this person labels blind."""

    who: str = Field(default="", max_length=LONGEST_NAME)
    blind: bool = False


class Search(Viewer):
    """Which texts are looked for. Words in double quotes are one phrase."""

    words: str = Field(default="", max_length=LONGEST_NAME)
    label: str | None = Field(default=None, max_length=LONGEST_NAME)
    """A class. With levels, it may also be all classes below a level (see `Labelling.is_among`)."""
    state: Literal["all", "open", "labelled", "unsure", "skipped", "dropped", "wrong", "missed", "extra"] = "all"
    """`missed`: the class `label` was not answered. `extra`: the class `answered` is not in the label."""
    answered: str | None = Field(default=None, max_length=LONGEST_NAME)
    """A class that the model of the last round answered to a text with a label, which it had not learned."""


class SearchPage(Search):
    """A page of what a search finds."""

    model_config = ConfigDict(strict=False)  # all values of a query are strings

    page: int = Field(default=0, ge=0, le=10**9)


class Decided(BodyOfRequest):
    """What a person decided about some texts, or about all that a search finds."""

    texts: list[int] | None = Field(default=None, min_length=1, max_length=MOST_AT_ONCE)
    found: Search | None = None
    beside: bool = False
    """Whether the label comes beside those that a text has, if it may have several."""
    instead: str | None = None
    """The class in whose place the label comes then."""
    kind: Literal["label", "skip", "unsure", "drop"]
    label: str | None = Field(default=None, max_length=LONGEST_NAME)
    note: str = Field(default="", max_length=_LONGEST_NOTE)
    who: str = Field(max_length=LONGEST_NAME)
    way: Literal["random", "any", "unsure", "second", "search", "alike", "doubt", "settle", "class"]
    shown: bool = False


class Named(Viewer):
    """Who labels in a tab, or whose last decision is undone."""

    who: str = Field(max_length=LONGEST_NAME)


class ClassChanged(BodyOfRequest):
    """A new class, one that is put before another, or one whose texts get another, maybe new, one."""

    name: str = Field(max_length=LONGEST_NAME)
    to: str | None = Field(default=None, max_length=LONGEST_NAME)
    before: str | None = Field(default=None, max_length=LONGEST_NAME)
    who: str = Field(max_length=LONGEST_NAME)


class Settings(BodyOfRequest):
    """How the project is labelled, and which answers a person should see. What is left out stays as it is."""

    twice: bool | None = None
    rules: str | None = Field(default=None, max_length=_LONGEST_RULES)
    rules_before: str | None = None
    """What the rules were before they were edited."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """What an automatic answer needs (see `Labelling.sureness`)."""
    wrong: float | None = Field(default=None, ge=0, le=_HIGHEST_COST)
    """What a wrong answer costs, or a number that is off by 1."""
    human: float | None = Field(default=None, ge=0, le=_HIGHEST_COST)
    """What a person's look costs."""
