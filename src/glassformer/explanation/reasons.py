"""A row of reasons for each text of a table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from glassformer.data.wording import label_cell
from glassformer.explanation.explain import Explanation, signed

_WORDS = 5
_SCHEMA: dict[str, type[pl.DataType]] = {
    "prediction": pl.String,
    "rival": pl.String,
    "probability": pl.Float64,
    "words_for": pl.String,
    "words_against": pl.String,
    "faithfulness": pl.Float64,
    "verdict": pl.String,
}
REASON_COLUMNS = list(_SCHEMA)


def reasons_table(explanations: Sequence[Explanation | None]) -> pl.DataFrame:
    """Return a row for each explanation, with `REASON_COLUMNS`. All are null for an empty text, which is None."""
    rows = [dict.fromkeys(_SCHEMA) if found is None else _row(found) for found in explanations]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _row(found: Explanation) -> dict[str, str | float | None]:
    strongest = sorted(found.words, key=lambda word: -abs(word.total))
    return {
        "prediction": label_cell(found.label),
        "rival": None if found.rival is None else label_cell(found.rival),
        "probability": round(found.probability, 6),
        "words_for": _listed([f"{word.word} {signed(word.total)}" for word in strongest if word.total > 0]),
        "words_against": _listed([f"{word.word} {signed(word.total)}" for word in strongest if word.total < 0]),
        "faithfulness": None if found.faithfulness is None else round(found.faithfulness.score, 6),
        "verdict": found.verdict,
    }


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:_WORDS])
