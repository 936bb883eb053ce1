"""Read CSV and TSV."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from glassformer.data.column_names import may_be_known
from glassformer.data.formats.format import Delimited, Place
from glassformer.data.formats.text import Lines, TextFormat
from glassformer.data.headers import Row, all_named, unique_names
from glassformer.data.lines import LONGEST, OnNote
from glassformer.data.surroundings import rows_above, table_in
from glassformer.data.wording import counted
from glassformer.errors import UsageError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
COUNTED = "rows are counted from 1 below the header: "
"""Begins the note on rows of other numbers in the file."""
_SNIFFED_LINES = 40
_SHOWN = 3
_SEPARATOR_TOLD = re.compile(r"sep=([,;\t|])", re.IGNORECASE)


@dataclass(frozen=True)
class DelimitedText(TextFormat):
    """CSV, or with a fixed separator TSV."""

    name: str
    extensions: tuple[str, ...]
    separator: str | None = None

    def of_lines(self, lines: Lines, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        whole, start = lines.whole, list(itertools.islice(lines.whole, _SNIFFED_LINES))
        whole = itertools.chain(start, whole)
        separator = self.separator or _sniffed(lines.first, start)
        if place.on_note and self.separator is None and separator != ",":
            place.on_note(f"columns are separated by {DELIMITERS[separator]} (counted in the header)")
        if place.on_delimited:
            place.on_delimited(Delimited(separator=separator, mark=lines.mark))
        if _SEPARATOR_TOLD.fullmatch(lines.first.rstrip("\r\n")):
            whole = ("\n" if line is lines.first else line for line in whole)
        rows = table_in(_csv_rows(whole, place.name, separator), place.on_note)
        yield from frames_of(_of_one_width(rows, place.name), place, rows_per_batch)


CSV = DelimitedText("csv", (".csv",))
TSV = DelimitedText("tsv", (".tsv",), "\t")


def _sniffed(first: str, start: Sequence[str]) -> str:
    """Return the delimiter that occurs most often in the first line outside quotes, or the comma if none occurs.

    Excel may name the delimiter in an extra line above the header: `sep=;`. If the first line does not fit those below
    it, it may be a title, and the delimiter is that of the header which then follows.
    """
    if told := _SEPARATOR_TOLD.fullmatch(first.rstrip("\r\n")):
        return str(told[1])
    bare = "".join(first.split('"')[::2])
    most = max(DELIMITERS, key=bare.count)
    start_of = {each: _start_of(start, each) for each in (most, *DELIMITERS)}
    # How many rows have one number of cells, which is more than one.
    widths = {each: Counter(len(row.cells) for row in rows if len(row.cells) > 1) for each, rows in start_of.items()}
    most_alike = {each: max(rows.values(), default=0) for each, rows in widths.items()}
    if most_alike[most] == len(start_of[most]):
        return most
    titled = (each for each, rows in start_of.items() if most_alike[each] >= most_alike[most] and rows_above(rows))
    return next(titled, most)


def _start_of(lines: Sequence[str], delimiter: str) -> list[Row]:
    """Return the first rows as they are with this delimiter. The last one may go on, and is left out."""
    try:
        rows = [Row(at, cells) for at, cells in enumerate(csv.reader(lines, delimiter=delimiter), 1) if any(cells)]
    except csv.Error:
        return []
    return rows[:-1] if len(lines) == _SNIFFED_LINES else rows


def frames_of(rows: Iterator[Row], place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    """Yield the rows below a header as frames of strings.

    Args:
        rows: the header and then the rows, all of one length.

    Raises:
        UsageError: there is no header.
    """
    header = next(rows, None)
    if header is None:
        raise UsageError(f"{place.name} is empty.")
    columns = unique_names(header.cells, place.on_note)
    records = _counted(rows, place.on_note)
    while batch := list(itertools.islice(records, rows_per_batch)):
        yield pl.DataFrame(batch, schema=dict.fromkeys(columns, pl.String), orient="row")


def _counted(rows: Iterator[Row], on_note: OnNote | None) -> Iterator[list[str]]:
    """Yield the cells of rows. Where their numbers in the file are not one more than below the header, note it."""
    shift, shifts, more = 1, list[str](), 0
    for number, row in enumerate(rows, 1):
        if row.number - number != shift:
            shift = row.number - number
            if len(shifts) < _SHOWN:
                shifts.append(f"row {number:,} is row {row.number:,} of the file")
            else:
                more += 1
        yield row.cells
    if shifts and on_note:
        others = f", and so on ({more:,} more)" if more else ""
        on_note(f"{COUNTED}{', '.join(shifts)}{others}")


def _csv_rows(lines: Iterator[str], name: str, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(LONGEST)
    held = 0  # characters since the row began

    def of_bounded_rows() -> Iterator[str]:
        nonlocal held
        for line in lines:
            held += len(line)
            if held > LONGEST:
                raise csv.Error(f"it is longer than {LONGEST:,} characters; is a quote never closed?")
            yield line

    reader = csv.reader(of_bounded_rows(), delimiter=delimiter, strict=True)
    for number in itertools.count(1):
        held, line = 0, reader.line_num + 1
        try:
            yield Row(number, next(reader), line)
        except StopIteration:
            return
        except csv.Error as error:
            place = _place(name, number, line)
            if "unexpected end of data" in str(error):
                raise UsageError(
                    f"{place}: a quote that opens there is not closed. If it is part of the text, write it twice, and "
                    f"put the whole field in double quotes."
                ) from None
            if "new-line character" in str(error):
                raise UsageError(
                    f"{place}: this line ends in a carriage return alone, unlike those above. Save the file "
                    "with line ends of one kind; or if it is part of a text, put the whole field in double quotes."
                ) from None
            raise UsageError(
                f"{place} is malformed: {error}. A field with a quote, a line break or the separator in it is put in "
                f'double quotes, and a quote inside it is written twice: "".'
            ) from None


def _of_one_width(rows: Iterator[Row], name: str) -> Iterator[Row]:
    """Yield the rows, without blank ones.

    Raises:
        UsageError: a row has not as many fields as the header, or the header may be a title.
    """
    header = next(rows, None)
    if header is None:
        return
    yield header
    width, first = len(header.cells), list(itertools.islice(rows, _SNIFFED_LINES))
    if _may_be_title(header, first):
        list(all_named((row for row in first if len(row.cells) == width), header, name))
    for row in itertools.chain(first, rows):
        fields = len(row.cells)
        if fields != width:
            if not any(map(str.strip, row.cells)):
                continue
            raise UsageError(
                f"{_place(name, row.number, row.line)} has {counted(fields, 'field')} where the header has {width:,}. "
                f"A field that contains the separator or a line break must be in double quotes."
            )
        yield row


def _may_be_title(header: Row, first: Sequence[Row]) -> bool:
    """Whether only the first cells of a header are names, none is known, and the row below or most rows have more."""
    names = [cell for cell in header.cells if cell.strip()]
    if not 0 < len(names) < len(header.cells) or header.cells[: len(names)] != names or any(map(may_be_known, names)):
        return False
    more = [any(map(str.strip, row.cells[len(names) :])) for row in first if any(map(str.strip, row.cells))]
    return more[:1] == [True] or 2 * sum(more) > len(more)


def _place(name: str, number: int, line: int) -> str:
    """Return where a row is, as a spreadsheet and, if that differs, as an editor shows it."""
    return f"{name}, row {number:,} of the file" + (f" (line {line:,})" if line != number else "")
