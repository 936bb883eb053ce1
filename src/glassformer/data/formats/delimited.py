"""Read CSV and TSV."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from glassformer.data.column_kinds import is_named_as_id
from glassformer.data.column_names import may_be_known
from glassformer.data.formats.format import Delimited, Place
from glassformer.data.formats.text import Lines, TextFormat
from glassformer.data.headers import Row, all_named, unique_names
from glassformer.data.lines import LONGEST, OnNote
from glassformer.data.surroundings import is_line, rows_above, table_in
from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
COUNTED = "rows are counted from 1 below the header: "
"""Begins the note on rows of other numbers in the file."""
_SNIFFED_LINES = 40
_SHOWN = 3
_FEWEST = 2  # rows that show that all have one field more than the header
_NOT_CLOSED = "unexpected end of data"
_QUOTINGS = {
    "quotechar": "a text in single ones",
    "skipinitialspace": "behind a separator and a space",
    "escapechar": "a quote within a text behind a backslash",
}
"""What is said of quotes that are not written in the usual way."""
_OTHER_TEXTS = {
    r"[\[{]\s*[\[{\"]": "JSON; give it the extension .jsonl, or .json if it is one array or object",
    r"<(!doctype|html|\?xml|table|head)\b": (
        "a web page or XML; open it in a spreadsheet program, and save it as .xlsx or CSV"
    ),
    r"@relation\b": "an ARFF file of Weka; save it there as CSV",
    r"__label__\S": "lines as fastText has them; give it the extension .txt",
}
"""How a text begins that is no table in columns, and what it is."""
_AS_TEXT = re.compile(r'="((?:[^"]|"")*)"')
"""A formula that gives a text: with it, Excel does not take the text for a number or a date."""
_NUMBERS = {
    point: re.compile(rf"[+-]?(?:\d+|\d{{1,3}}(?:[{group}]\d{{3}})+)(?:[{point}](\d+))?\s?[%€$£]?")
    for point, group in ((",", "."), (".", ","))
}
"""Numbers by their decimal point. Of one that has it, the decimals are captured."""
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""A number that may be a thousand or a fraction, such as 1,234."""
_SEPARATOR_TOLD = re.compile(r"sep=([,;\t|])", re.IGNORECASE)


@dataclass(frozen=True)
class DelimitedText(TextFormat):
    """CSV, or with a fixed separator TSV."""

    name: str
    extensions: tuple[str, ...]
    separator: str | None = None

    def of_lines(self, lines: Lines, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        _refuse_other_text(lines.first, place.name)
        whole, start = lines.whole, list(itertools.islice(lines.whole, _SNIFFED_LINES))
        whole = itertools.chain(start, whole)
        separator = self.separator or _sniffed(lines.first, start)
        if place.on_note and self.separator is None and separator != ",":
            place.on_note(f"columns are separated by {DELIMITERS[separator]} (counted in the header)")
        if _SEPARATOR_TOLD.fullmatch(lines.first.rstrip("\r\n")):
            whole = ("\n" if line is lines.first else line for line in whole)
        quoting, said = _quoting(start, separator)
        if place.on_note and said:
            place.on_note(said)
        first_rows = _start_of(start, separator, **quoting)
        if place.on_delimited:
            points = _decimal_points(first_rows)
            of_excel = lines.mark and separator == ";" and not points  # in countries where it has decimal commas
            place.on_delimited(
                Delimited(
                    separator=separator,
                    mark=lines.mark,
                    decimal_comma=separator != "," and ("," in points or of_excel),
                    line_end="\r\n" if lines.first.endswith("\r\n") else "\n",
                )
            )
        rows = _csv_rows(whole, place, separator, quoting)
        if any(_AS_TEXT.fullmatch(cell) for row in first_rows for cell in row.cells):
            rows = map(_without_formulas, rows)
            if place.on_note:
                place.on_note('cells such as ="007" are read without the sign and the quotes, as Excel does')
        rows = table_in(rows, place.on_note)
        yield from frames_of(_of_one_width(rows, place), place, rows_per_batch)


CSV = DelimitedText("csv", (".csv",))
TSV = DelimitedText("tsv", (".tsv",), "\t")


def _sniffed(first: str, start: Sequence[str]) -> str:
    """Return the delimiter that occurs most often in the first line outside quotes, or the comma if none occurs.

    Excel may name the delimiter in an extra line above the header: `sep=;`. If the first line does not fit those below
    it, it may be a title, and the delimiter is that of the header which then follows.
    """
    if told := _SEPARATOR_TOLD.fullmatch(first.rstrip("\r\n")):
        return str(told[1])
    header = next((line for line in start if line.strip() and not is_line([line.strip()])), first)
    bare = "".join(header.split('"')[::2])
    most = max(DELIMITERS, key=bare.count)
    start_of = {each: _start_of(start, each) for each in (most, *DELIMITERS)}
    # How many rows have one number of cells, which is more than one.
    widths = {each: Counter(len(row.cells) for row in rows if len(row.cells) > 1) for each, rows in start_of.items()}
    most_alike = {each: max(rows.values(), default=0) for each, rows in widths.items()}
    if most_alike[most] == len(start_of[most]):
        return most
    titled = (each for each, rows in start_of.items() if most_alike[each] >= most_alike[most] and rows_above(rows))
    return next(titled, most)


def _start_of(lines: Sequence[str], delimiter: str, **quoting: Any) -> list[Row]:
    """Return the first rows as they are with this delimiter. The last one may go on, and is left out."""
    rows, goes_on = list[Row](), len(lines) == _SNIFFED_LINES
    try:
        for at, cells in enumerate(_reader(lines, delimiter, **quoting), 1):
            if any(cells) and not is_line(cells):
                rows.append(Row(at, cells))
    except csv.Error as error:
        return rows if goes_on and _NOT_CLOSED in str(error) else []
    return rows[:-1] if goes_on else rows


def _decimal_points(rows: Sequence[Row]) -> set[str]:
    """Return the decimal points of columns that hold numbers alone: the comma, the point, both or none."""
    found = set[str]()
    for cells in itertools.zip_longest(*(row.cells for row in rows[1:]), fillvalue=""):
        filled = [cell.strip() for cell in cells if cell.strip()]
        for point, number in _NUMBERS.items():
            numbers = list(map(number.fullmatch, filled))
            if all(numbers) and any(each and each[1] and not _GROUPED.fullmatch(each[0]) for each in numbers):
                found.add(point)
    return found


def _reader(lines: Iterable[str], delimiter: str, **quoting: Any) -> Any:
    """Return a reader of `csv`. Its own `escapechar` drops every backslash, also that of `C:\\new`."""
    if mark := quoting.pop("escapechar", None):
        quote = quoting.get("quotechar", '"')
        lines = (line.replace(mark + quote, 2 * quote) for line in lines)
    return csv.reader(lines, delimiter=delimiter, **quoting)


def _quoting(start: Sequence[str], delimiter: str) -> tuple[dict[str, Any], str | None]:
    """Return how quotes are read, and what to say of it. Other ways than the usual one are taken on clear evidence."""
    usual = _start_of(start, delimiter, strict=True)
    ways = list[dict[str, Any]]()
    if usual and all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in usual[0].cells):
        ways = [{"quotechar": "'"}, {"quotechar": "'", "escapechar": "\\"}]
    elif not _is_even(usual) or _are_quoted(usual):
        signs = {f'{delimiter} "': "skipinitialspace", '\\"': "escapechar"}
        there = [name for sign, name in signs.items() if any(sign in line for line in start)]
        ways = [{name: "\\" if name == "escapechar" else True} for name in there]
    for way in ways:
        rows = _start_of(start, delimiter, strict=True, **way)
        if _is_even(rows) and rows != usual:
            return way, f"quotes are read as the first rows have them: {' and '.join(_QUOTINGS[each] for each in way)}"
    return {}, None


def _are_quoted(rows: Sequence[Row]) -> bool:
    """Whether in some column all cells stand in quotes behind a space."""
    columns = itertools.zip_longest(*(row.cells for row in rows[1:]), fillvalue="")
    return any(
        all(len(cell) > 2 and cell.startswith(' "') and cell.endswith('"') for cell in cells) for cells in columns
    )


def _without_formulas(row: Row) -> Row:
    found = map(_AS_TEXT.fullmatch, row.cells)
    return row._replace(
        cells=[each[1].replace('""', '"') if each else cell for cell, each in zip(row.cells, found, strict=True)]
    )


def _is_even(rows: Sequence[Row]) -> bool:
    """Whether all rows have one number of cells, which is more than one. The header may have one less."""
    header, *body = (len(row.cells) for row in rows or [Row(0, [])])
    return len({*body}) == 1 and 1 < max(body) <= header + 1 <= max(body) + 1


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


def _refuse_other_text(first: str, name: str) -> None:
    """Raise `UsageError` if the first line is that of a text which holds no columns."""
    for start, what in _OTHER_TEXTS.items():
        if re.match(start, first.lstrip(), re.IGNORECASE):
            raise UsageError(f"{name} is no table of columns, but {what}.")


def _csv_rows(lines: Iterator[str], place: Place, delimiter: str, quoting: dict[str, Any]) -> Iterator[Row]:
    csv.field_size_limit(LONGEST)
    held = 0  # characters since the row began
    own: list[str] = []  # the lines of the row
    swallowed: list[str] = []

    def of_bounded_rows() -> Iterator[str]:
        nonlocal held
        for line in lines:
            held += len(line)
            own.append(line)
            if held > LONGEST:
                raise csv.Error(f"it is longer than {LONGEST:,} characters; is a quote never closed?")
            yield line

    reader = _reader(of_bounded_rows(), delimiter, strict=True, **quoting)
    for number in itertools.count(1):
        held, line = 0, reader.line_num + 1
        own.clear()
        try:
            row = Row(number, next(reader), line)
            between = len(row.cells) - 1
            several = len(own) > 1 and between and delimiter != "," and len(swallowed) < _SHOWN
            if several and all(line.count(delimiter) == between for line in own):
                swallowed.append(f"{number:,} (lines {line:,} to {reader.line_num:,})")
            yield row
        except StopIteration:
            if swallowed and place.on_note:
                place.on_note(
                    f"perhaps some rows are read as one, such as in row {', '.join(swallowed)}: each line looks like a "
                    "row, and they stand between quotes. A quote that is part of a text is written twice, in a field "
                    "that is in double quotes"
                )
            return
        except csv.Error as error:
            where = _place(place.name, number, line)
            if _NOT_CLOSED in str(error):
                raise UsageError(
                    f"{where}: a quote that opens there is not closed. If it is part of the text, write it twice, and "
                    f"put the whole field in double quotes."
                ) from None
            if "new-line character" in str(error):
                raise UsageError(
                    f"{where}: this line ends in a carriage return alone, unlike those above. Save the file "
                    "with line ends of one kind; or if it is part of a text, put the whole field in double quotes."
                ) from None
            raise UsageError(
                f"{where} is malformed: {error}. A field with a quote, a line break or the separator in it is put in "
                f'double quotes, and a quote inside it is written twice: "".'
            ) from None


def _of_one_width(rows: Iterator[Row], place: Place) -> Iterator[Row]:
    """Yield the rows, without blank ones.

    Raises:
        UsageError: a row has not as many fields as the header, or the header may be a title.
    """
    header = next(rows, None)
    if header is None:
        return
    name, first = place.name, list(itertools.islice(rows, _SNIFFED_LINES))
    rows = itertools.chain(first, rows)
    if found := _one_more(header, first):
        header, said = found
        if place.on_note:
            place.on_note(said)
    yield header
    width = len(header.cells)
    if _may_be_title(header, first):
        list(all_named((row for row in first if len(row.cells) == width), header, name))
    for row in rows:
        fields = len(row.cells)
        if fields != width:
            if not any(map(str.strip, row.cells)):
                continue
            raise UsageError(
                f"{_place(name, row.number, row.line)} has {counted(fields, 'field')} where the header has {width:,}. "
                f"{_why_uneven(fields, width)}"
            )
        yield row


def _why_uneven(fields: int, width: int) -> str:
    if width == 1:
        return (
            f"Columns are separated by {listed(list(DELIMITERS.values()), 4)}, and the header, which is the first row, "
            "has one column."
        )
    but = ", and a whole row must not be" if fields == 1 else ""
    return f"A field that contains the separator or a line break must be in double quotes{but}."


def _one_more(header: Row, first: Sequence[Row]) -> tuple[Row, str] | None:
    """Return the header with one more cell, and what to say of it, if all rows have one more on clear evidence.

    It is empty in all rows, whose lines end with a separator, or holds numbers of the rows, as R writes them.
    """
    body = [row.cells for row in first if any(map(str.strip, row.cells))]
    if len(body) < _FEWEST or {len(cells) for cells in body} != {len(header.cells) + 1}:
        return None
    if not any(cells[-1].strip() for cells in body):
        return header._replace(cells=[*header.cells, ""]), "the rows end with a separator, and the header does not"
    numbers = [int(cells[0]) if cells[0].isdecimal() else -1 for cells in body]
    rising = numbers[0] >= 0 and all(one < other for one, other in itertools.pairwise(numbers))
    if rising and not is_named_as_id(header.cells[0]):
        return header._replace(cells=["", *header.cells]), "the rows begin with a number that the header does not name"
    return None


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
