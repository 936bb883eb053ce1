"""A row of reasons for the number of each text of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from glassformer.explanation.explanation import in_list
from glassformer.explanation.number import NumberExplanation, effect_text
from glassformer.targets.number.target import significant

_WORDS_IN_A_CELL = 5
_LIST = pl.List(pl.Struct({"word": pl.String, "effect": pl.Float64}))
_SCHEMA: dict[str, Any] = {
    "prediction": pl.Float64,
    "interval_low": pl.Float64,
    "interval_high": pl.Float64,
    "words_raising": pl.String,
    "words_lowering": pl.String,
    "unlike_training": pl.Boolean,
}
NUMBER_REASON_COLUMNS = list(_SCHEMA)


def number_reasons_table(explanations: Sequence[NumberExplanation | None], *, nested: bool = False) -> pl.DataFrame:
    """Return a row for each explanation, with `NUMBER_REASON_COLUMNS`. All are null for an empty text, which is None.

    Args:
        nested: `words_raising` and `words_lowering` are lists of records with `word` and `effect`, as JSON can hold
            them. Otherwise they are texts.
    """
    schema = _SCHEMA | ({"words_raising": _LIST, "words_lowering": _LIST} if nested else {})
    rows = [dict.fromkeys(schema) if found is None else _row(found, nested=nested) for found in explanations]
    return pl.DataFrame(rows, schema=schema)


def _row(found: NumberExplanation, *, nested: bool) -> dict[str, Any]:
    effects = [(word, sum(each.total for each in group)) for word, group in found.strongest(len(found.words))]

    def written(sign: int) -> Any:
        some = [(word, effect) for word, effect in effects if sign * effect > 0][:_WORDS_IN_A_CELL]
        if nested:
            return [{"word": word, "effect": significant(effect)} for word, effect in some]
        return ", ".join(f"{in_list(word)} {effect_text(effect).replace(',', '')}" for word, effect in some)

    record = found.as_json()
    return {name: record[name] for name in ("prediction", "interval_low", "interval_high", "unlike_training")} | {
        "words_raising": written(1),
        "words_lowering": written(-1),
    }
