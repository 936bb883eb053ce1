"""A row of several inputs as one string: two or more texts, and columns of categories and numbers beside them.

```
question     answer       price  shop
"is it red"  "yes it is"  12.50  Berlin   →   ⟨price=10 to 15⟩⟨shop=Berlin⟩is it red⟨next text⟩yes it is
```

The brackets are characters that Unicode reserves for the inside of programs. So everything that reads a text reads a
row. What stands in brackets is one word and one token, whatever it holds. `shown` writes a row for people. Without
polars, which exported models do not need.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from glassformer.data.encodings import half_of_pair
from glassformer.data.wording import in_a_row
from glassformer.errors import InputError, brief_value, quoted

SEPARATOR = "\ufdd0"
"""Stands between two texts of a row. It is a noncharacter, as are the next two: no text of a user should hold any."""
BEGIN, END = "\ufdd1", "\ufdd2"
"""Stand around the value of a column."""
MISSING, OTHER = "missing", "other"
RESERVED = f"[{SEPARATOR}{BEGIN}{END}]"
"""A pattern of the characters above. They are removed from what users give."""

BLANK = r"^[\s\x1c-\x1f]*$"
"""A pattern of a text without anything to read. Python takes U+001C to U+001F for white space, and polars does not."""

MARK = f"{BEGIN}([^{BEGIN}{END}]*){END}"
"""A pattern of the value of a column in a composed row."""

_MARK = re.compile(MARK)
_WHOLE = re.compile(r"^(-?\d+)\.0+$")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:([.,])\d{3}(?:\1\d{3})+|,\d{3})")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


class Category(BaseModel):
    """A column of categories. One that is not among `values` is read as `other`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["category"] = "category"
    name: str
    values: tuple[str, ...] = Field(min_length=1)
    """The categories, the most frequent first. Capitals, white space and Unicode forms do not distinguish them."""

    @field_validator("values")
    @classmethod
    def _are_read_as_themselves(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        seen = {MISSING, OTHER}
        for value in values:
            if plain_value(value) != value:
                raise ValueError(f"{quoted(value)} is not written as a category is")
            if value.casefold() in seen:
                raise ValueError(f"{quoted(value)} occurs twice")
            seen.add(value.casefold())
        return values

    @property
    def all_values(self) -> tuple[str, ...]:
        """What a value is read as."""
        return (MISSING, OTHER, *self.values)

    def value_of(self, given: Any) -> str:
        """Return what a cell is read as."""
        plain = plain_value(given)
        return MISSING if plain is None else self._spelled.get(value_key(plain), OTHER)

    @cached_property
    def _spelled(self) -> dict[str, str]:
        known = (*self.values, MISSING, OTHER)
        return {value_key(value): value for value in reversed(known)}  # of two forms in a folder, the first


class Number(BaseModel):
    """A column of numbers. They are read by the quantile that they are in."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kind: Literal["number"] = "number"
    name: str
    edges: tuple[float, ...] = Field(min_length=1)
    """Where the next quantile begins, in ascending order."""

    @field_validator("edges")
    @classmethod
    def _rise(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        if fall := next((pair for pair in pairwise(edges) if pair[0] >= pair[1]), None):
            raise ValueError(f"{fall[1]:g} follows {fall[0]:g}, and each must be larger than the one before")
        return edges

    @cached_property
    def all_values(self) -> tuple[str, ...]:
        """What a value is read as."""
        shown = shown_apart(self.edges)
        between = [f"{low} to {high}" for low, high in pairwise(shown)]
        return (MISSING, f"below {shown[0]}", *between, f"{shown[-1]} or more")

    def value_of(self, given: Any) -> str:
        """Return what a cell is read as. What is not a number is missing."""
        number = as_number(given)
        return MISSING if number is None else self.all_values[1 + bisect_right(self.edges, number)]


Column = Annotated[Category | Number, Field(discriminator="kind")]


class Inputs(BaseModel):
    """The inputs of a model that reads more than one text: their columns, and how their values are read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    texts: tuple[str, ...] = Field(min_length=1)
    """The columns of the texts."""
    columns: tuple[Column, ...] = ()
    """The columns beside them."""

    @model_validator(mode="after")
    def _differ(self) -> Self:
        for number, name in enumerate(self.names):
            if not is_plain_name(name):
                raise ValueError(f"{quoted(name)} is not the name of a column")
            if name in self.names[:number]:
                raise ValueError(f"the column {quoted(name)} occurs twice")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.texts, *self.beside)

    @property
    def beside(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def tokens(self) -> tuple[str, ...]:
        """What stands in a composed row beside texts, each of which is one token. The separator is the last."""
        marks = [mark(column.name, value) for column in self.columns for value in column.all_values]
        return (*marks, SEPARATOR) if len(self.texts) > 1 else tuple(marks)

    def compose(self, row: Any) -> str:
        """Return a row as one string. It is empty if all of its texts are blank.

        Args:
            row: values by the names of the columns. None is a missing value.

        Raises:
            InputError: an input is not in the row, or a text is not a string.
        """
        if not isinstance(row, Mapping):
            raise InputError(f"this model reads {self.in_words}, not {brief_value(row)}; give a row: {self.example}")
        for name in self.names:
            if name not in row:
                raise InputError(
                    f"the row has no {quoted(name)}; this model reads {self.in_words}. For a missing value give null"
                )
        texts = [_clean_text(row[name], name) for name in self.texts]
        if not any(text.strip() for text in texts):
            return ""
        values = [mark(column.name, column.value_of(_cell(row[column.name], column.name))) for column in self.columns]
        return "".join(values) + SEPARATOR.join(texts)

    def misread(self, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the name and the value of each column of numbers in a row that holds something else."""
        for column in self.columns:
            if isinstance(column, Number) and is_misread(row.get(column.name)):
                yield column.name, row[column.name]

    def read(self, line: str) -> dict[str, Any]:
        """Return the row that a line of JSON holds; an empty one for a blank line.

        Raises:
            InputError: it is no JSON object.
        """
        if not line.strip():
            return {}
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError) and line.lstrip().startswith("{"):
                rest = line[error.pos :]
                where = f"before {quoted(rest, most=20)} (character {error.pos + 1})" if rest.strip() else "at its end"
                raise InputError(
                    f"the row is not JSON: {error.msg}, {where}. A row is written so: {self.example}"
                ) from None
            row = None
        if not isinstance(row, dict):
            raise InputError(
                f"this model reads {self.in_words}, and got {quoted(line)}; give a row as JSON: {self.example}"
            )
        return row

    @property
    def example(self) -> str:
        """A row as JSON, for a message. It shows no category: one may name a person."""
        row: dict[str, Any] = dict.fromkeys(self.texts, "…")
        row |= {column.name: column.edges[0] if isinstance(column, Number) else "…" for column in self.columns}
        return json.dumps(row, ensure_ascii=False)

    def parts(self, composed: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return the texts and the values of a composed row, each by its column."""
        found = zip(self.beside, values_of(composed), strict=False)
        values = {name: each[len(name) + 1 :] for name, each in found}
        texts = without_columns(composed).split(SEPARATOR)
        texts += [""] * (len(self.texts) - len(texts))
        return dict(zip(self.texts, texts, strict=True)), values

    def described(self) -> dict[str, Any]:
        """Return the inputs as JSON for pages, with what the values of each column are read as."""
        found = self.model_dump(mode="json")
        for column, described in zip(self.columns, found["columns"], strict=True):
            described["values"] = [value for value in column.all_values if value not in (MISSING, OTHER)]
        return found

    @property
    def in_words(self) -> str:
        """The inputs for a message: "the texts 'question' and 'answer' and the column 'price'"."""
        parts = [("text", self.texts), ("column", self.beside)]
        return " and ".join(
            f"the {noun}{'s' if len(names) > 1 else ''} {in_a_row([*map(quoted, names)])}"
            for noun, names in parts
            if names
        )


def is_plain_name(name: str) -> bool:
    """Whether a column of this name can be an input."""
    return bool(name) and not re.search(RESERVED, name)


def example_of(inputs: Inputs | None) -> str:
    """Return what a model is asked in an example of the command line, in quotes for a shell."""
    return '"a text"' if inputs is None else shlex.quote(inputs.example)


def mark(column: str, value: str) -> str:
    """Return the value of a column as it stands in a composed row."""
    return f"{BEGIN}{column}={value}{END}"


def with_parts(texts: Mapping[str, str], values: Mapping[str, str], inputs: Inputs) -> str:
    """Return the composed row of these parts (see `Inputs.parts`)."""
    marks = [mark(column.name, values[column.name]) for column in inputs.columns]
    return "".join(marks) + SEPARATOR.join(texts[name] for name in inputs.texts)


def is_composed(text: object) -> bool:
    """Whether this is a composed row, or an empty text."""
    return isinstance(text, str) and (text.startswith(BEGIN) or SEPARATOR in text or not text.strip())


def shown(composed: str) -> str:
    """Return a row for people: its texts, then its columns. Other texts stay as they are."""
    if SEPARATOR not in composed and BEGIN not in composed:
        return composed
    texts, values = without_columns(composed).replace(SEPARATOR, " | "), values_of(composed)
    return f"{texts} [{', '.join(values)}]" if values else texts


def without_columns(composed: str) -> str:
    return _MARK.sub("", composed)


def texts_alone(composed: str) -> str:
    """Return the words of the texts of a row. Other texts stay as they are."""
    return without_columns(composed).replace(SEPARATOR, " ")


def values_of(composed: str) -> list[str]:
    """Return the values of the columns of a row, as `shop=Berlin`."""
    return _MARK.findall(composed)


def with_texts_changed(composed: str, change: Callable[[str], str]) -> str:
    """Return a row with its texts changed one by one, and the values of its columns as they are."""
    texts = without_columns(composed)
    marks = composed[: len(composed) - len(texts)]
    return marks + SEPARATOR.join(map(change, texts.split(SEPARATOR)))


def fields(composed: str) -> Iterator[tuple[int, int]]:
    """Yield where each mark of a column and each text of a row begins and ends, in their order."""
    end = 0
    for found in _MARK.finditer(composed):
        yield found.span()
        end = found.end()
    for text in composed[end:].split(SEPARATOR):
        yield end, end + len(text)
        end += len(text) + 1


def is_too_large(given: Any) -> bool:
    """Whether this is a whole number that no float can hold. Python may refuse to write it."""
    return isinstance(given, int) and abs(given) > sys.float_info.max


def plain_value(given: Any) -> str | None:
    """Return a cell as a string without what does not distinguish values, or None if it is missing."""
    if given is None or given != given:
        return None
    if is_too_large(given):
        raise InputError(f"a value is {brief_value(given)}, too large for a number")
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    plain = " ".join(re.sub(RESERVED, "", str(given)).split())
    return _WHOLE.sub(r"\1", plain) or None  # "2.0" is 2 in a table too


def value_key(plain: str) -> str:
    """Return what all spellings of a category share: those in capitals, and in another form of Unicode."""
    return unicodedata.normalize("NFC", plain.casefold())


def as_number(given: Any) -> float | None:
    """Return a cell as a number: 1200, "1,200", "1 200.50", "3,5", "0,125" or "12 %"; None for anything else."""
    plain = plain_value(given)
    if plain is None or isinstance(given, bool):
        return None
    digits = re.sub(r"[\s'’]|%$", "", plain)
    if not digits.isascii():
        digits = re.sub(r"\d", lambda digit: str(int(digit[0])), digits)  # ３ and ٣ are 3
    if _THOUSANDS.fullmatch(digits):
        digits = re.sub(r"[.,]", "", digits)
    elif "," in digits and "." in digits:  # the last of both is the decimal point
        digits = digits.replace(min(",.", key=digits.rindex), "")
    digits = digits.replace(",", ".")
    number = float(digits) if _NUMBER.fullmatch(digits) else math.nan
    return number if math.isfinite(number) else None


def is_misread(given: Any) -> bool:
    """Whether a cell of a column of numbers holds something else. It is read as missing."""
    return plain_value(given) is not None and as_number(given) is None


def _cell(given: Any, name: str) -> Any:
    if is_too_large(given):
        raise InputError(f"the value of {quoted(name)} is {brief_value(given)}, too large for a number")
    if given is None or isinstance(given, int | float):
        return given
    if isinstance(given, str):
        return _whole(given, f"the value of {quoted(name)}")
    raise InputError(f"the value of {quoted(name)} is {brief_value(given)}, not a number or a word")


def _clean_text(given: Any, name: str) -> str:
    if given is None or given != given:
        return ""
    if not isinstance(given, str):
        raise InputError(f"the text {quoted(name)} is {brief_value(given)}, not a string")
    return re.sub(RESERVED, "", _whole(given, f"the text {quoted(name)}"))


def _whole(given: str, what: str) -> str:
    if half_of_pair(given) is not None:
        raise InputError(f"{what} holds half of a surrogate pair, which is not a character: {brief_value(given)}")
    return given


def shown_apart(edges: Sequence[float]) -> list[str]:
    """Return the numbers with as few digits as tell them apart."""
    for digits in range(3, 17):
        shown = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(shown)) == len(edges) and all("e" not in each for each in shown):
            return shown
    return [repr(edge) for edge in edges]
