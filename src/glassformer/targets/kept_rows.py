"""Held-out rows that a model folder remembers: their numbers in the table, and what was answered, but no text."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from operator import not_

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.data.arrays import Array
from glassformer.data.wording import counted

_MOST_ROWS, _MOST_VALUES = 2_000, 400_000
_MOST_BYTES = 16 * _MOST_VALUES  # one row has as many values as there are labels, which may be more
_HALVES = 2  # of a value of 32 bits, each of 16


class KeptRows(BaseModel):
    """Some of the held-out rows.

    Attributes:
        numbers: those of the rows in their table. None if they came from several tables.
    """

    model_config = ConfigDict(frozen=True)

    rows: int = Field(ge=1, le=_MOST_ROWS)
    numbers: str | None = Field(default=None, exclude_if=not_)

    @model_validator(mode="after")
    def _numbers_unpack(self) -> KeptRows:
        if self.numbers is not None:
            self._halves(self.numbers)
        return self

    @property
    def row_numbers(self) -> Array | None:
        """The numbers of the rows in their table (rows,)."""
        return None if self.numbers is None else self._halves(self.numbers).view("<u4")[:, 0]

    def _halves(self, packed: str) -> Array:
        found = unpacked(packed, self.rows)
        if found.shape[1] != _HALVES:
            raise ValueError(f"it does not hold one value for each of {counted(self.rows, 'row')}")
        return found


class KeptNumbers(KeptRows):
    """The same with the numbers that were answered, in 32 bits."""

    answers: str

    @classmethod
    def of(cls, answers: Array, numbers: Array | None) -> KeptNumbers:
        """Keep some rows, evenly spread."""
        places = places_kept(len(answers), 1)
        return cls(
            rows=len(places),
            numbers=None if numbers is None else packed_numbers(numbers[places]),
            answers=packed(answers[places].astype("<f4").view("<u2")),
        )

    @model_validator(mode="after")
    def _answers_unpack(self) -> KeptNumbers:
        if not np.isfinite(self.answered).all():
            raise ValueError("it holds an answer that is no number")
        return self

    @property
    def answered(self) -> Array:
        """The answers (rows,)."""
        return self._halves(self.answers).view("<f4")[:, 0]


def places_kept(rows: int, values: int) -> Array:
    """Return which of so many rows are kept, evenly spread, if each of them has so many values."""
    kept = min(rows, _MOST_ROWS, max(1, _MOST_VALUES // values))
    return np.linspace(0, rows - 1, kept).round().astype(np.int64)


def packed_numbers(numbers: Array) -> str:
    """Pack the numbers of rows."""
    return packed(numbers.astype("<u4").view("<u2"))


def packed(values: Array) -> str:
    """Pack values from 0 to 65,535 into letters."""
    return b64encode(zlib.compress(values.astype("<u2").tobytes(), 9)).decode()


def unpacked(letters: str, rows: int) -> Array:
    """Return the values (rows, any). Raises `ValueError` if they are damaged. A few letters may stand for gigabytes."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(b64decode(letters), _MOST_BYTES)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if not unpacking.eof or not content or len(content) % (2 * rows):
        raise ValueError(f"it does not hold as many values for each of {counted(rows, 'row')}")
    return np.frombuffer(content, "<u2").reshape(rows, -1)
