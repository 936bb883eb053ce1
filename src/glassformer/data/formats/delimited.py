"""Read CSV and TSV."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from glassformer.data.formats.format import Delimited, Place
from glassformer.data.formats.text import Lines, TextFormat
from glassformer.data.headers import unique_names, without_repeats
from glassformer.data.lines import LONGEST
from glassformer.errors import UsageError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SEPARATOR_TOLD = re.compile(r"sep=([,;\t|])", re.IGNORECASE)


@dataclass(frozen=True)
class DelimitedText(TextFormat):
    """CSV, or with a fixed separator TSV.

    Attributes:
        separator: between columns; None: it is counted in the header.
    """

    name: str
    extensions: tuple[str, ...]
    separator: str | None = None

    def of_lines(self, lines: Lines, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        """Yield the batches of lines."""
        separator = self.separator or _sniffed(lines.first)
        if place.on_note and self.separator is None and separator != ",":
            place.on_note(f"columns are separated by {DELIMITERS[separator]} (counted in the header)")
        if place.on_delimited:
            place.on_delimited(Delimited(separator=separator, mark=lines.mark))
        whole = lines.whole
        if _SEPARATOR_TOLD.fullmatch(lines.first.rstrip("\r\n")):
            whole = ("\n" if line is lines.first else line for line in whole)
        records = _csv_records(whole, place.name, separator)
        yield from frames_of(records, place, rows_per_batch)


CSV = DelimitedText("csv", (".csv",))
TSV = DelimitedText("tsv", (".tsv",), "\t")


def _sniffed(header: str) -> str:
    """Return the delimiter that occurs most often in the header line outside quotes, or the comma if none occurs.

    Excel may name the delimiter in an extra line above the header: `sep=;`.
    """
    if told := _SEPARATOR_TOLD.fullmatch(header.rstrip("\r\n")):
        return str(told[1])
    bare = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=bare.count)


def frames_of(records: Iterator[list[str]], place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    """Yield the rows below a header as frames of strings.

    Args:
        records: the header and then the rows, all of one length.

    Raises:
        UsageError: there is no header.
    """
    header = next(records, None)
    if header is None:
        raise UsageError(f"{place.name} is empty.")
    columns = unique_names(header, place.on_note)
    records = without_repeats(header, records, place.on_note)
    while rows := list(itertools.islice(records, rows_per_batch)):
        yield pl.DataFrame(
            [
                pl.Series(column, values, pl.String)
                for column, values in zip(columns, zip(*rows, strict=True), strict=True)
            ]
        )


class _RowLines:
    """The lines of a CSV file, as its reader takes them. `held` counts the characters since the row began."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.held = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.held += len(line)
        if self.held > LONGEST:
            raise csv.Error(f"it is longer than {LONGEST:,} characters; is a quote never closed?")
        return line


def _csv_records(lines: Iterator[str], name: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the header and then the rows, all of one length."""
    csv.field_size_limit(LONGEST)
    row_lines = _RowLines(lines)
    reader = csv.reader(row_lines, delimiter=delimiter, strict=True)
    row, width = 0, 0
    while True:
        row_lines.held = 0
        line = reader.line_num + 1
        place = f"{name}, row {row} (line {line})" if row else f"{name}, header (line {line})"
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise UsageError(
                    f"{place}: a quote that opens there is not closed. If it is part of the text, write it twice, and "
                    f"put the whole field in double quotes."
                ) from None
            raise UsageError(
                f"{place} is malformed: {error}. A field with a quote, a line break or the separator in it is put in "
                f'double quotes, and a quote inside it is written twice: "".'
            ) from None
        if not fields or (len(fields) != width and not any(map(str.strip, fields))):
            continue  # a blank line
        width = width or len(fields)
        if len(fields) != width:
            raise UsageError(
                f"{place} has {len(fields):,} field{'' if len(fields) == 1 else 's'} where the header has {width:,}. "
                f"A field that contains the separator or a line break must be in double quotes."
            )
        yield fields
        row += 1
