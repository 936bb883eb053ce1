"""A row of reasons for each text of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from glassformer.data.wording import label_cell
from glassformer.explanation.explanation import Explanation, in_list, signed
from glassformer.explanation.shares import WordShare

Shares = list[tuple[str, float]]
_WORDS = 5
_SCHEMA: dict[str, type[pl.DataType]] = {
    "prediction": pl.String,
    "explained": pl.String,
    "rival": pl.String,
    "probability": pl.Float64,
    "words_for": pl.String,
    "words_against": pl.String,
    "faithfulness": pl.Float64,
    "verdict": pl.String,
    "unlike_training": pl.Boolean,
}
REASON_COLUMNS = list(_SCHEMA)
_LIST = pl.List(pl.Struct({"word": pl.String, "share": pl.Float64}))


def reasons_table(explanations: Sequence[Explanation | None], *, nested: bool = False) -> pl.DataFrame:
    """Return a row for each explanation, with `REASON_COLUMNS`. All are null for an empty text, which is None.

    Args:
        nested: `words_for` and `words_against` are lists of records with `word` and `share`, as JSON can hold them.
            Otherwise they are texts.
    """
    schema = _SCHEMA | ({"words_for": _LIST, "words_against": _LIST} if nested else {})
    rows = [
        dict.fromkeys(schema) if found is None else _row(found, _records if nested else _text) for found in explanations
    ]
    return pl.DataFrame(rows, schema=schema)


def _row(found: Explanation, written: Callable[[Shares], Any]) -> dict[str, Any]:
    shares = by_word(found.words)
    return {
        "prediction": label_cell(found.prediction),
        "explained": label_cell(found.label),
        "rival": None if found.rival is None else label_cell(found.rival),
        "probability": round(found.probability, 6),
        "words_for": written([(word, share) for word, share in shares if share > 0][:_WORDS]),
        "words_against": written([(word, share) for word, share in shares if share < 0][:_WORDS]),
        "faithfulness": None if found.faithfulness is None else round(found.faithfulness.score, 6),
        "verdict": found.verdict,
        "unlike_training": found.unlike_training,
    }


def by_word(words: Iterable[WordShare]) -> Shares:
    """Return each word with the sum of its shares over all its occurrences, the strongest first."""
    found = list(words)
    several = len({word.input for word in found if not word.is_value}) > 1
    shares: dict[str, float] = {}
    for word in found:
        name = word.named(several=several)
        shares[name] = shares.get(name, 0.0) + word.total
    return sorted(shares.items(), key=lambda each: -abs(each[1]))


def _text(shares: Shares) -> str:
    return ", ".join(f"{in_list(word)} {signed(share)}" for word, share in shares)


def _records(shares: Shares) -> list[dict[str, Any]]:
    return [{"word": word, "share": round(share, 6)} for word, share in shares]
