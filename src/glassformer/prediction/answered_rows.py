"""Add answers to the rows of a table, which may be a file of any size or lines as they arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import polars as pl

from glassformer.errors import UsageError
from glassformer.targets.answers import Answers

TextsOf = Callable[[pl.DataFrame], list[str]]
"""Returns the texts of a frame, or its composed rows. A missing text becomes an empty one."""


def texts_in(text_column: str) -> TextsOf:
    """Return a function for the texts in a column."""
    return lambda frame: frame[text_column].cast(pl.String).fill_null("").to_list()


def refuse_taken(frame: pl.DataFrame, added: list[str], source: str) -> None:
    """Raise `UsageError` if the table already has a column with the name of an added one."""
    if taken := [name for name in added if name in frame.columns]:
        raise UsageError(
            f"{source} already has a column {taken[0]!r}, and the answers need this name; rename the column"
        )


def record_lines(frame: pl.DataFrame, answers: Answers) -> Iterator[str]:
    """Yield a line of JSON for each row: its columns, then its answer."""
    return answers.lines(map(json.loads, frame.write_ndjson().rstrip("\n").split("\n")))
