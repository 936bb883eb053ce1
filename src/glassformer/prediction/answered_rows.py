"""Add answers to the rows of a table, which may be a file of any size or lines as they arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from glassformer.data.wording import label_cell
from glassformer.errors import UsageError
from glassformer.prediction.answers import Answers

TextsOf = Callable[[pl.DataFrame], list[str]]
"""Returns the texts of a frame, or its composed rows. A missing text becomes an empty one."""


def texts_in(text_column: str) -> TextsOf:
    """Return a function for the texts in a column."""
    return lambda frame: frame[text_column].cast(pl.String).fill_null("").to_list()


def added_columns(labels: tuple[Any, ...]) -> list[str]:
    """Return the names of the columns that `with_answers` adds, besides `needs_review`."""
    return ["prediction", "confidence", *(f"probability_{label}" for label in labels), *_UNLIKE]


_UNLIKE = ["unseen_share", "unlike_training"]
NEEDS_REVIEW = "needs_review"
RECORD_KEYS = ["prediction", "confidence", "probabilities", "readers", *_UNLIKE]
"""The keys that `record_lines` adds, besides `needs_review`."""


def refuse_taken(frame: pl.DataFrame, added: list[str], source: str) -> None:
    """Raise `UsageError` if the table already has a column with the name of an added one."""
    if taken := [name for name in added if name in frame.columns]:
        raise UsageError(
            f"{source} already has a column {taken[0]!r}, and the answers need this name; rename the column"
        )


def with_answers(frame: pl.DataFrame, answers: Answers) -> pl.DataFrame:
    """Add the columns of `only_answers` to a frame."""
    return pl.concat([frame, only_answers(answers)], how="horizontal")


def only_answers(answers: Answers) -> pl.DataFrame:
    """Return the prediction, its confidence, a probability per label, and whether the text is unlike the training data.

    All are null for an empty text. The last two are null too if the model does not know. With `review_below` there is
    `needs_review` too.
    """
    names = added_columns(answers.labels)
    columns: dict[str, list[Any]] = {
        "prediction": [None if label is None else label_cell(label) for label in answers.predictions()],
        "confidence": _rounded(answers.confidences().tolist()),
    }
    probabilities = names[len(columns) : -len(_UNLIKE)]
    columns |= {name: _rounded(answers.probs[:, i].tolist()) for i, name in enumerate(probabilities)}
    unknown = [None] * len(answers.empty)
    columns["unseen_share"] = unknown if answers.unseen is None else _rounded(answers.unseen.tolist())
    columns["unlike_training"] = unknown if answers.unlike is None else answers.unlike.tolist()
    if (review := answers.needs_review) is not None:
        columns[NEEDS_REVIEW] = review.tolist()
    types = {"prediction": pl.String, "unlike_training": pl.Boolean, NEEDS_REVIEW: pl.Boolean}
    added = pl.DataFrame(columns, schema={name: types.get(name, pl.Float64) for name in columns})
    return added.select(pl.when(pl.Series(~answers.empty)).then(pl.all()))


def record_lines(frame: pl.DataFrame, answers: Answers) -> Iterator[str]:
    """Yield a line of JSON for each row: its columns, then its answer."""
    return answers.lines(map(json.loads, frame.write_ndjson().rstrip("\n").split("\n")))


def _rounded(probs: list[float]) -> list[float]:
    """Round to six decimals. In float64, 0.123457 is then written with six digits."""
    return [round(value, 6) for value in probs]
