"""Write rows with their answers as a workbook of Excel."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import xlsxwriter
from xlsxwriter.exceptions import FileCreateError

from glassformer.errors import UsageError

_ROWS, _COLUMNS, _CHARACTERS, _DIGITS = 1_048_576, 16_384, 32_767, 15
"""What a sheet can hold: rows and columns, the characters of a cell, and the digits of a number."""
_NUMBER = re.compile(r"(?!-0$)-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")
"""A number that is read again as it stands here: no 007 and no 1.50."""


class Sheet:
    """The only sheet of a new workbook. Its texts stay texts, also where they look like formulas or addresses.

    Workbooks and CSV are read as texts. So if all texts of a column are numbers, they are written as numbers.
    """

    def __init__(self, book: xlsxwriter.Workbook) -> None:
        self._sheet = book.add_worksheet()
        self._sheet.freeze_panes(1, 0)
        self._sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{_ROWS}"})
        self._rows = 0
        self._numbers: set[int] = set()  # columns

    def write(self, frame: pl.DataFrame) -> None:
        """Write the next rows, with a header before the first ones.

        Raises:
            UsageError: a sheet cannot hold them.
        """
        if not self._rows:
            self._write_row(frame.columns)
            self._numbers = {place for place, values in enumerate(frame) if _are_numbers(values)}
        for row in frame.iter_rows():
            self._write_row(row)

    def _write_row(self, values: Any) -> None:
        if self._rows == _ROWS or len(values) > _COLUMNS:
            raise UsageError(f"a workbook holds {_ROWS:,} rows and {_COLUMNS:,} columns; write answers as .csv")
        for column, value in enumerate(values):
            self._write_cell(column, value)
        self._rows += 1

    def _write_cell(self, column: int, value: Any) -> None:
        if value is None or value != value:
            return
        if column in self._numbers and _is_written_number(value):
            value = float(value)
        if isinstance(value, bool):
            self._sheet.write_boolean(self._rows, column, value)
        elif _is_number(value):
            self._sheet.write_number(self._rows, column, value)
        else:
            text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
            if self._sheet.write_string(self._rows, column, text):
                characters = len(text.encode("utf-16-le")) // 2  # Excel counts an emoji as two
                raise UsageError(
                    f"row {self._rows:,} has a cell of {characters:,} characters as Excel counts them, and a cell of a "
                    f"workbook holds {_CHARACTERS:,}; write answers as .csv"
                )


def _are_numbers(values: pl.Series) -> bool:
    found = values.drop_nulls()
    return values.dtype == pl.String and len(found) > 0 and all(map(_is_written_number, found))


def _is_written_number(text: str) -> bool:
    digits = text.replace(".", "").lstrip("-0")
    return len(digits) <= _DIGITS and len(text) <= _DIGITS + len("-0.") and _NUMBER.fullmatch(text) is not None


def _is_number(value: Any) -> bool:
    """Whether a value is a number of which Excel keeps all digits. Of a float it keeps nearly all."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Decimal):
        return len(value.normalize().as_tuple().digits) <= _DIGITS
    return isinstance(value, int) and abs(value) < 10**_DIGITS


@contextmanager
def new_workbook(path: Path) -> Iterator[Sheet]:
    """Yield the sheet of a workbook that is written to this path. Rows do not stay in memory."""
    try:
        with (
            TemporaryDirectory() as folder,  # also removed after an error
            xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": folder, "use_zip64": True}) as book,
        ):
            yield Sheet(book)
    except FileCreateError as error:
        raise error.args[0] from None  # the `OSError` that it holds
