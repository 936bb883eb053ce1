"""Tell by the rows below it whether the first row holds the names of columns, or is a row of data like them."""

import re
from typing import Literal

import polars as pl

from glassformer.data.column_kinds import is_no_value, is_number_or_date, kind_of
from glassformer.data.column_names import KNOWN_NAMES, folded

_WORDS_OF_DATA, _SIGNS_OF_DATA = 4, 10  # a name with so many words, or signs of Chinese, may be a text
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_QUESTION = r"[?？]\s*$"
_MOST_QUESTIONS = 0.2  # share of the values below a name that is a question
_MOST_COLUMNS = 100
_TOLD = ("dates", "decimal numbers", "whole numbers", "e-mail addresses", "links")


def looks_like_data(sample: pl.DataFrame, column: str) -> bool:
    """Whether the name of a column that was found by its content seems to be a value of a first row of data.

    A name that occurs among the values does, and so does a number above numbers unless a name beside it is surely none.
    A long name does unless it is a question and the values are none, or the first row differs from the others in what
    it holds.
    """
    own, shown = _of(sample[column]), {_of(sample[name]) for name in sample.columns[:_MOST_COLUMNS] if name.strip()}
    if own == "value" or (len(column.split()) < _WORDS_OF_DATA and len(_WIDE.findall(column)) < _SIGNS_OF_DATA):
        return own == "value" or (own == "data" and "names" not in shown)
    asked = sample[column].drop_nulls().cast(pl.String, strict=False).str.contains(_QUESTION).mean()
    if re.search(_QUESTION, column) and float(asked or 0) < _MOST_QUESTIONS:  # type: ignore[arg-type]
        return False
    return bool(shown & {"value", "data"}) or "names" not in shown


def _of(values: pl.Series) -> Literal["value", "data", "names"] | None:
    """What the name of a column shows of the first row, by the values below it: it is one of them, or is like them."""
    present, kind = values.drop_nulls().cast(pl.String, strict=False).str.strip_chars(), kind_of(values)
    name = values.name.strip()
    if name in present:
        return "value"
    if kind in _TOLD and not is_no_value(name):
        is_alike = is_number_or_date(name) if kind in _TOLD[:3] else kind_of(pl.Series([name])) == kind
        return "data" if is_alike else "names"
    return "names" if folded(name) in KNOWN_NAMES else None
