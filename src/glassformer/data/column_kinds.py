"""What a column holds, judged by its values: numbers, dates, links, e-mail addresses, ids, or words."""

import re
from collections.abc import Sequence
from typing import Literal

import polars as pl

from glassformer.data.column_names import KNOWN_NAMES, LABEL_NAMES, folded
from glassformer.data.wording import counted
from glassformer.errors import quoted

Kind = Literal[
    "empty", "lists or records", "dates", "decimal numbers", "whole numbers", "e-mail addresses", "links", "ids",
    "words",
]  # fmt: skip

LOOKED_AT = 1_000  # values of a column
MOST = 0.95  # share of the non-empty values that decides: some exports hold "n/a" or an error message among the numbers
NEARLY_ALL = 0.8  # a column with this share of distinct values cannot hold classes
FEWEST_VALUES = 20  # with fewer rows a column of distinct values says nothing

_CLOCK = r"([t ]\s*([\d:.,+\-][\d:.,+\- ]*)?(am|pm)?( ?(z|utc|gmt|[cemp][ds]t|mes?z)([+-]\d{1,2})?)?)?"
MONTHS = {
    "jan": "uar[iy]?|v(?:ier)?|eiro",
    "feb": "ruar[iy]?|rero|braio",
    "mar": "ch|s|zo",
    "apr": "ile?",
    "may": "o",
    "jun": "e|io?|ho",
    "jul": "y|io?|ho",
    "aug": "ust(?:us|i)?",
    "sep": "t(?:ember|embre|iembre)?",
    "oct": "ober|obre|ubre",
    "nov": "emb(?:er|re|ro)|iembre",
    "dec": "ember|embre",
}
"""How the name of each month begins, and how it may go on, in English and where other languages begin alike."""
A_MONTH = "|".join(f"{start}(?:{rest})?" for start, rest in MONTHS.items())
_DATE = (
    rf"^(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}){_CLOCK}$"
    r"|^\d{4}[-/](\d{2}|q[1-4])$"
    r"|^(19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])([t ]?\d{4,6}z?)?$"
    r"|^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?$"
    rf"|^(\w{{2,9}}\.?,? )?(\d{{1,2}}(st|nd|rd|th|\.)?[ -])?({A_MONTH})"
    r"[ .,-]+\d{1,4}[\d :.,+\-a-z]{0,24}$"
)
_NUMBER = r"^[-+]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([., ']\d{3})+([.,]\d+)?)(e[-+]?\d+)?\s?%?$"
_WHOLE = r"^[-+]?\d+([.,]0*)?$"
_EMAIL = r"^[^\s@/]+@[^\s@]+\.[^\s@]+$"
_LINK = rf"^(https?://|ftp://|www\.)\S+$|{_EMAIL}"
_CODE = r"^[a-z0-9_\-.:/#+]{1,64}$"
_NO_VALUE = re.compile(r"[\W_]*|n\.?/? ?a\.?|k\. ?a\.|nan|null|none", re.IGNORECASE)
_ID_NAMES = {"id", "ids", "uuid", "guid", "index", "idx", "url", "uri", "link", "href", "email", "unnamed"}


def kind_of(values: pl.Series) -> Kind:
    """Return the kind of nearly all values, without blanks. Numbers and dates are recognised by their spelling."""
    if is_opaque(values.dtype):
        return "lists or records"
    if values.dtype.is_temporal():
        return "dates"
    present = values.drop_nulls().cast(pl.String).str.strip_chars().str.to_lowercase()
    present = present.filter(~present.is_in(["", "nan"]))
    looked_at = present.head(LOOKED_AT)
    if not len(looked_at):
        return "empty"
    if _most(looked_at, _DATE):
        return "dates"
    if _most(looked_at, _NUMBER):
        return "whole numbers" if _most(looked_at, _WHOLE) else "decimal numbers"
    if _most(looked_at, _EMAIL):
        return "e-mail addresses"
    if _most(looked_at, _LINK):
        return "links"
    if _most(looked_at, _CODE) and _most(looked_at, r"\d") and looked_at.n_unique() > MOST * len(looked_at):
        return "ids"
    return "words"


def without_words(texts: pl.Series, column: str) -> str | None:
    """Return a message if the texts of a column are dates or numbers, or None."""
    kind = kind_of(texts.head(LOOKED_AT))
    if kind not in ("dates", "whole numbers", "decimal numbers"):
        return None
    return f"the text column {quoted(column)} holds {kind}, which say little as texts; `text=` names another one"


_NESTED = {
    "annotations": ('"result":', "what Label Studio writes as JSON; export JSON-MIN or CSV there"),
    "messages": ('"role":', "conversations; write a column with the text and one with its label"),
    "entities": ('"start_offset":', "labels of parts of a text; a table has a label for each whole text"),
}
"""What a column of this name holds in the exports of other programs, and what its cells have in them."""


def nested_labels(sample: pl.DataFrame) -> str | None:
    """Return what a table is that holds no column of labels, and what to do, or None."""
    for column, (sign, what) in _NESTED.items():
        values = sample[column].drop_nulls() if column in sample.columns else pl.Series()
        if values.dtype == pl.String and len(values) and values[0].startswith("[{") and sign in values[0]:
            return f"the column {quoted(column)} holds {what}."
    return None


def to_fill_in(sample: pl.DataFrame, columns: Sequence[str]) -> str | None:
    """Return that one of these columns is to hold the labels and holds none yet, and what to do, or None.

    Another column that could be learned is hardly meant. In a table of two columns, there is none.
    """
    empty = (name for name in columns if folded(name) in LABEL_NAMES and kind_of(sample[name]) == "empty")
    if sample.width == 2 or (name := next(empty, None)) is None:
        return None
    return (
        f"the column {quoted(name)} is named as a label, and is empty in the first {counted(sample.height, 'row')}. "
        "Fill it in, or name the column to learn with `label=`."
    )


def is_near_unique(values: pl.Series) -> bool:
    """Whether nearly every row has its own value, so these are not classes. False for a column of few rows."""
    present = values.drop_nulls()
    return len(present) >= FEWEST_VALUES and present.n_unique() > NEARLY_ALL * len(present)


def is_named_as_id(column: str) -> bool:
    """Whether the name is that of an id, such as `customer_id`, `ticketId` or `Profile URL`.

    An empty name counts too: an exported index has none.
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", column)
    return not column.strip() or bool(words and words[-1].lower() in _ID_NAMES)


def is_opaque(dtype: pl.DataType) -> bool:
    """Whether a column holds lists, records, bytes, durations or objects: nothing to read as one text or label."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Duration, pl.Object)


def holds_some_numbers(values: pl.Series) -> bool:
    """Whether a column holds words, and at least half of its values are numbers."""
    if is_named_as_id(values.name) or kind_of(values) != "words":
        return False
    present = values.drop_nulls().cast(pl.String).str.strip_chars()
    return 2 * present.str.contains(_NUMBER).sum() >= len(present)


def is_number_or_date(cell: str) -> bool:
    """Whether a cell is spelled as a number or a date."""
    found = cell.strip().lower()
    return bool(re.search(_NUMBER, found) or re.search(_DATE, found))


def is_no_value(cell: str) -> bool:
    """Whether a cell is blank, or says that there is no value: n/a, k. A., a dash."""
    return _NO_VALUE.fullmatch(cell.strip()) is not None


def _most(values: pl.Series, pattern: str) -> bool:
    return float(values.str.contains(pattern).mean() or 0) >= MOST  # type: ignore[arg-type]


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
    asked = _words_in(sample[column]).str.contains(_QUESTION).mean()
    if re.search(_QUESTION, column) and float(asked or 0) < _MOST_QUESTIONS:  # type: ignore[arg-type]
        return False
    return bool(shown & {"value", "data"}) or "names" not in shown


def _of(values: pl.Series) -> Literal["value", "data", "names"] | None:
    """What the name of a column shows of the first row, by the values below it: it is one of them, or is like them."""
    name, kind = values.name.strip(), kind_of(values)
    if name in _words_in(values):
        return "value"
    if kind in _TOLD and not is_no_value(name):
        is_alike = is_number_or_date(name) if kind in _TOLD[:3] else kind_of(pl.Series([name])) == kind
        return "data" if is_alike else "names"
    return "names" if folded(name) in KNOWN_NAMES else None


def _words_in(values: pl.Series) -> pl.Series:
    """Return the values as strings, stripped. Lists, records and the like have none."""
    if is_opaque(values.dtype):
        return pl.Series(dtype=pl.String)
    return values.drop_nulls().cast(pl.String).str.strip_chars()
