"""A program of its own that prints the cells of a workbook as lines of JSON: `python sheets.py FILE SHEET`.

A workbook of some kilobytes may unpack to more than the memory holds, and a lack of memory ends the whole program. So
this one ends instead of that of the user, and it may take no more than `MOST_MEMORY` where the system can say so. It
imports nothing of glassformer, so it starts in a moment.

The first line is an object: `sheets`, a list of name, rows and columns of every sheet that is not empty; and `taken`,
the sheet whose rows follow, or null. Or `error` says what is wrong. The last line is an object with numbers: of cells
that hold an error such as #REF!, of cells with a formula and no value, both printed empty, of hidden rows, and of what
is struck through (texts that several cells share count once).
"""

from __future__ import annotations

import datetime
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import python_calamine as calamine

MOST_MEMORY = 2**32
_ERRORS = {"#REF!", "#N/A", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"}
_WHOLE = 1e15  # from here on, a number has more digits than a spreadsheet shows
_MOST_ROWS = 2**20
_MOST_PARSED = 1 << 25  # bytes of XML
_REPEATED = re.compile(rb"number-rows-repeated=[\"'](\d{1,99})")
_ODDITIES = {
    "errors": re.compile(rb'<c\b[^<>]* t="e"'),
    "formulas": re.compile(rb'<c\b(?![^<>]* t="str")[^<>]*+><f\b[^<>]*+(?:(?<=/)>|>[^<]*+</f>)(?:<v ?/>|<v></v>)?</c>'),
    "struck": re.compile(rb"<strike ?/>"),  # in a part of a text
    "hidden": re.compile(rb'<row\b(?=[^<>]* hidden="(?:1|true)")[^<>]*+(?<!/)>'),
}
"""What is counted in a sheet of .xlsx."""
_STYLE = re.compile(rb'<c\b[^<>]* s="(\d+)"[^<>]*+(?<!/)>')
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_NAMES = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def main(path: str, asked: str) -> None:
    """Print what a workbook holds. `asked` is the name of a sheet, or empty."""
    _bound_memory()
    try:
        with _opened(path) as book:
            _check_repeats(path)
            _print_sheet(book, path, asked)
    except calamine.PasswordError:
        _print({"error": "is protected by a password; save it without one"})
    except (calamine.CalamineError, OSError, ValueError) as error:
        _print({"error": f"cannot be read, it may be damaged: {error}"})


def _opened(path: str) -> calamine.CalamineWorkbook:
    """Open a workbook as its extension says, or else as its content shows."""
    try:
        return calamine.CalamineWorkbook.from_path(path)
    except calamine.PasswordError:
        raise
    except calamine.CalamineError as error:
        try:
            return calamine.CalamineWorkbook.from_filelike(Path(path).open("rb"))  # it closes the file
        except calamine.CalamineError:
            raise error from None


def _check_repeats(path: str) -> None:
    """Raise `ValueError` if a workbook of LibreOffice says that a row is repeated more often than a sheet has rows."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        if "content.xml" not in archive.namelist():
            return
        with archive.open("content.xml") as file:
            for times in (int(found) for piece in _pieces(file, b"<") for found in _REPEATED.findall(piece)):
                if times > _MOST_ROWS:
                    raise ValueError(f"a row is repeated {times:,} times, and a sheet has at most {_MOST_ROWS:,} rows")


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # on Windows, where nothing bounds it (see SECURITY.md)
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _print_sheet(book: calamine.CalamineWorkbook, path: str, asked: str) -> None:
    known = [sheet for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
    shown = [sheet for sheet in known if sheet.visible == calamine.SheetVisibleEnum.Visible]
    if asked in book.sheet_names:
        _print_rows(book.get_sheet_by_name(asked), [], path)
        return
    sizes, only = [], None
    for sheet in map(book.get_sheet_by_name, [sheet.name for sheet in shown or known]):
        if sheet.height:
            sizes.append((sheet.name, sheet.height, sheet.width))
            only = sheet if len(sizes) == 1 and not asked else None
    if only is None:
        _print({"sheets": sizes, "taken": None})
    else:
        _print_rows(only, sizes, path)


def _print_rows(sheet: calamine.CalamineSheet, sizes: list[tuple[str, int, int]], path: str) -> None:
    _print({"sheets": sizes, "taken": sheet.name})
    errors, merged = 0, _merged_down(sheet, path)
    for row in merged(sheet.iter_rows()) if sheet.height else ():
        errors += sum(cell in _ERRORS for cell in row if isinstance(cell, str))
        _print([_as_text(cell) for cell in row])
    odd = _oddities_in(path, sheet.name)
    _print(odd | {"errors": errors + odd.get("errors", 0)})


def _merged_down(sheet: calamine.CalamineSheet, path: str) -> Callable[[Iterator[list[Any]]], Iterator[list[Any]]]:
    """Return a function that repeats the value of a cell that spans several rows in each of them."""
    begins: dict[int, list[tuple[int, int]]] = {}
    left = sheet.start[1] if sheet.start else 0
    for (top, column), (bottom, _) in sheet.merged_cell_ranges or _merged_in_ods(path, sheet.name):
        if bottom > top and 0 <= column - left < sheet.width:
            begins.setdefault(top, []).append((column - left, bottom))

    def filled(rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
        held: dict[int, tuple[int, Any]] = {}  # by column: the last row that it fills, and its value
        for number, row in enumerate(rows):
            for column, (bottom, value) in held.items():
                if number <= bottom:
                    row[column] = value
            held.update({column: (bottom, row[column]) for column, bottom in begins.get(number, ())})
            yield row

    return filled


def _as_text(cell: Any) -> str:
    """Return a cell as a person sees it in the workbook."""
    if isinstance(cell, str):
        return "" if cell in _ERRORS else cell
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < _WHOLE else f"{cell:.15g}"
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ", "seconds")
    if isinstance(cell, datetime.timedelta):
        minutes, seconds = divmod(round(cell.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


def _oddities_in(path: str, sheet: str) -> dict[str, int]:
    """Return how often each of `_ODDITIES` stands in a sheet of .xlsx. Its reader gives errors as empty cells."""
    found = dict.fromkeys(_ODDITIES, 0)
    try:
        with zipfile.ZipFile(path) as archive:
            book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
            numbers = {each.get("name"): each.get(f"{_NAMES}id") for each in book.iter() if each.tag.endswith("}sheet")}
            links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
            targets = {link.get("Id"): link.get("Target", "") for link in links}
            target = targets[numbers[sheet]].removeprefix("/xl/")
            with archive.open(f"xl/{target}") as file:
                struck = _struck_styles(archive)
                for piece in _pieces(file, b"<c "):
                    for name, pattern in _ODDITIES.items():
                        found[name] += len(pattern.findall(piece))
                    found["struck"] += sum(style in struck for style in _STYLE.findall(piece)) if struck else 0
            if "xl/sharedStrings.xml" in archive.namelist():
                with archive.open("xl/sharedStrings.xml") as file:
                    found["struck"] += sum(len(_ODDITIES["struck"].findall(piece)) for piece in _pieces(file, b"<r"))
    except (KeyError, ElementTree.ParseError, zipfile.BadZipFile, OSError):
        pass
    return found


def _is_there(archive: zipfile.ZipFile, name: str) -> bool:
    """Whether a file is in a workbook, and small enough to be parsed. `zipfile` reads no more than it says here."""
    return name in archive.namelist() and archive.getinfo(name).file_size <= _MOST_PARSED


def _struck_styles(archive: zipfile.ZipFile) -> set[bytes]:
    """Return the numbers of the styles that strike a cell through."""
    if not _is_there(archive, "xl/styles.xml"):
        return set()
    try:
        styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
    except ElementTree.ParseError:
        return set()
    fonts = styles.iterfind(f"{_MAIN}fonts/{_MAIN}font")
    struck = {
        str(at) for at, font in enumerate(fonts) if (one := font.find(f"{_MAIN}strike")) is not None and not one.attrib
    }
    forms = styles.iterfind(f"{_MAIN}cellXfs/{_MAIN}xf")
    return {str(at).encode() for at, form in enumerate(forms) if form.get("fontId") in struck}


def _merged_in_ods(path: str, sheet: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the first and the last cell of those that span several rows in a sheet of LibreOffice."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        if not _is_there(archive, "content.xml"):
            return
        with archive.open("content.xml") as file:
            row = column = 0
            inside = False
            for event, element in ElementTree.iterparse(file, ("start", "end")):
                tag, number = element.tag.removeprefix(_TABLE), element.attrib.get
                if tag == "table" and event == "start":
                    row, inside = 0, number(f"{_TABLE}name") == sheet
                elif tag == "table-row" and event == "start":
                    column = 0
                elif tag in ("table-cell", "covered-table-cell") and event == "end":
                    if inside and (rows := int(number(f"{_TABLE}number-rows-spanned", 1))) > 1:
                        yield (row, column), (row + rows - 1, column)
                    column += int(number(f"{_TABLE}number-columns-repeated", 1))
                elif tag == "table-row":
                    row += int(number(f"{_TABLE}number-rows-repeated", 1))
                    element.clear()


def _pieces(file: Any, before: bytes) -> Any:
    """Yield pieces of bytes that end before these."""
    held = b""
    while piece := file.read(2**20):
        whole, start, rest = (held + piece).rpartition(before)
        yield whole
        held = start + rest
    yield held


def _print(value: object) -> None:
    sys.stdout.write(json.dumps(value))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
