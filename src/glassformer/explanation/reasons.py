"""A row of reasons for each text of a table."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from glassformer.explanation.asked import Asked
from glassformer.explanation.explanation import Explanation, in_list
from glassformer.explanation.shares import WordShare

Shares = list[tuple[str, float]]
_WORDS = 5


def reason_columns(kind: type[Asked]) -> dict[str, Any]:
    """Return the columns of a table of reasons for a kind of answer, and what they hold."""
    about = {"faithfulness": float, "verdict": str, "unlike_training": bool}
    return {**kind.columns, **dict.fromkeys(kind.word_columns, str), **about}


def reasons_table(
    kind: type[Asked], explanations: Sequence[Explanation | None], *, nested: bool = False
) -> pl.DataFrame:
    """Return a row for each explanation, with `reason_columns`. All are null for an empty text, which is None.

    Args:
        nested: the words are lists of records with `word` and their share, as JSON can hold them. Otherwise they are
            texts.
    """
    schema = reason_columns(kind)
    if nested:
        schema |= dict.fromkeys(kind.word_columns, pl.List(pl.Struct({"word": pl.String, kind.share_key: pl.Float64})))
    rows = [
        dict.fromkeys(schema) if found is None else dict(zip(schema, _cells(found, nested=nested), strict=True))
        for found in explanations
    ]
    return pl.DataFrame(rows, schema=schema)


def _cells(found: Explanation, *, nested: bool) -> list[Any]:
    shares = by_word(found.words)
    sides = [
        [(word, share) for word, share in shares if share > 0][:_WORDS],
        [(word, share) for word, share in shares if share < 0][:_WORDS],
    ]
    written = [(_records if nested else _text)(found.asked, side) for side in sides]
    faithfulness = None if found.faithfulness is None else round(found.faithfulness.score, 6)
    return [*found.asked.cells(), *written, faithfulness, found.verdict, found.unlike_training]


def by_word(words: Iterable[WordShare]) -> Shares:
    """Return each word with the sum of its shares over all its occurrences, the strongest first."""
    found = list(words)
    several = len({word.input for word in found if not word.is_value}) > 1
    shares: dict[str, float] = {}
    for word in found:
        name = word.named(several=several)
        shares[name] = shares.get(name, 0.0) + word.total
    return sorted(shares.items(), key=lambda each: -abs(each[1]))


def _text(asked: Asked, shares: Shares) -> str:
    return ", ".join(f"{in_list(word)} {asked.written(share).replace(',', '')}" for word, share in shares)


def _records(asked: Asked, shares: Shares) -> list[dict[str, Any]]:
    return [{"word": word, asked.share_key: asked.rounded(share)} for word, share in shares]
