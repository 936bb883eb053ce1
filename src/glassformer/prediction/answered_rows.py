"""Answers beside the rows of a table: of a file of any size, or of lines as they arrive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from glassformer.errors import UsageError
from glassformer.prediction.predictor import Answers


def texts_of(frame: pl.DataFrame, text_column: str) -> list[str]:
    """The texts of a frame; a missing one is empty."""
    return frame[text_column].cast(pl.String).fill_null("").to_list()


def added_columns(labels: tuple[Any, ...]) -> list[str]:
    """The columns that `with_answers` adds."""
    return ["prediction", "confidence", *(f"probability_{label}" for label in labels)]


RECORD_KEYS = ["prediction", "confidence", "probabilities"]
"""The keys that `record_lines` adds."""


def refuse_taken(frame: pl.DataFrame, added: list[str], source: str) -> None:
    """Raises `UsageError` where a column of the table has the name of one that would be added."""
    if taken := [name for name in added if name in frame.columns]:
        raise UsageError(f"{source} already has a column {taken[0]!r}, which the answers would add; rename it")


def with_answers(frame: pl.DataFrame, answers: Answers) -> pl.DataFrame:
    """The frame with a prediction, its confidence and a probability per label; all null beside an empty text."""
    filled = ~answers.empty
    names = added_columns(answers.labels)
    columns: dict[str, list[Any]] = {
        "prediction": [None if label is None else cell(label) for label in answers.predictions()],
        "confidence": _rounded(answers.confidences().tolist()),
    }
    columns |= {name: _rounded(answers.probs[:, i].tolist()) for i, name in enumerate(names[len(columns) :])}
    added = pl.DataFrame(columns, schema={name: pl.String if name == "prediction" else pl.Float64 for name in names})
    answered = pl.Series(filled)
    blank = added.select(pl.when(answered).then(pl.all()))
    return pl.concat([frame, blank], how="horizontal")


def record_lines(frame: pl.DataFrame, answers: Answers, top_k: int | None = None) -> Iterator[str]:
    """One line of JSON for each row: its columns, then its answer."""
    rows = frame.write_ndjson().rstrip("\n").split("\n")
    for row, record in zip(rows, answers.records(top_k), strict=True):
        yield json.dumps(json.loads(row) | record, ensure_ascii=False)


def cell(label: Any) -> str:
    """An answer as a cell of a table: several labels stand in one."""
    return "|".join(map(str, label)) if isinstance(label, list) else str(label)


def _rounded(probs: list[float]) -> list[float]:
    """Six decimals, in float64, where 0.123457 is written as such."""
    return [round(value, 6) for value in probs]
