"""Read a sheet of a workbook: .xlsx, .xls, .ods. Its cells are text, as a person sees them.

Another process reads the file (`sheets.py` says why), and its rows arrive as lines.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import zipfile
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import polars as pl

from glassformer.data.formats.delimited import frames_of
from glassformer.data.formats.format import LOCK, Delimited, Format, Place
from glassformer.data.headers import Row, all_named
from glassformer.data.installed import is_installed, pip_install
from glassformer.data.lines import LONGEST
from glassformer.data.parts import MARK, PartError
from glassformer.data.surroundings import table_in
from glassformer.data.wording import counted, did_you_mean
from glassformer.errors import UsageError, quoted

_PROGRAM = Path(__file__).with_name("sheets.py")
_SIGNATURES = (b"PK", b"\xd0\xcf\x11\xe0")
_DOCUMENTS = {
    "Index/": "a document of Numbers, Pages or Keynote",
    "word/": "a Word document",
    "ppt/": "a PowerPoint presentation",
    "application/vnd.oasis.opendocument.text": "a text document",
    "application/vnd.oasis.opendocument.presentation": "a presentation",
}
"""What a zip is that is no workbook, by how names in it begin, or its media type if it is of LibreOffice."""


_ODDITIES = {
    "errors": (
        "cell holds an error such as #REF! and is",
        "cells hold an error such as #REF! and are",
        "read as empty",
    ),
    "formulas": (
        "cell holds a formula without a value, and is",
        "cells hold a formula without a value, and are",
        "read as empty: save the workbook in a spreadsheet program, which computes formulas",
    ),
    "hidden": ("row is", "rows are", "hidden in the sheet, and read like the others"),
}
"""What is said of those that `sheets.py` counts."""


class Workbook(Format):
    """A workbook. Without the name of a sheet, it has one that is not empty."""

    name = "workbook"
    extensions = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    parts = "sheet"
    written = ".csv"

    def batches(self, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        if not is_installed("python_calamine"):
            raise UsageError(f"{place.name}: workbooks need an extra: {pip_install('excel')}; or save the sheet as CSV")
        _check_start(place)
        if place.on_delimited:  # a CSV for a spreadsheet program begins with the mark of UTF-8
            place.on_delimited(Delimited(mark=True))
        with closing(_cells_of(place)) as lines:
            _check(place, json.loads(next(lines)))
            rows = _named(table_in(_rows(lines, place), place.on_note), place.name)
            yield from frames_of(rows, place, rows_per_batch)


WORKBOOK = Workbook()


def refuse_lock(name: str) -> None:
    """Raise `UsageError` for the file that Excel keeps beside a workbook while it is open."""
    if name.startswith(LOCK):
        raise UsageError(
            f"{quoted(name)} is the file by which Excel marks a workbook that is open; name the workbook: "
            f"{quoted(name.removeprefix(LOCK))}"
        )


def _check_start(place: Place) -> None:
    """Raise `UsageError` if the first bytes are those of no workbook."""
    with place.path.open("rb") as file:
        start = file.read(64)
    if not start:
        raise UsageError(f"{place.name} is empty.")
    if not start.startswith(_SIGNATURES):
        raise UsageError(
            f"{place.name} is not a workbook, but perhaps text or a web page, which some programs name so. Open it in "
            "a spreadsheet program and save it as .xlsx; or if it is text in columns, give it the extension .csv."
        )
    if start.startswith(b"PK") and not zipfile.is_zipfile(place.path):
        raise UsageError(f"{place.name} is damaged: its end is missing. Copy or download it again.")
    if (what := _document_in(place.path)) is not None:
        raise UsageError(
            f"{place.name} is {what} and not a workbook. Copy its table into a spreadsheet program, and save it there "
            "as .xlsx or CSV."
        )


def _document_in(path: Path) -> str | None:
    """Return which document a zip is, or None. An old workbook is no zip."""
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "mimetype" in names:
            with archive.open("mimetype") as file:
                names.append(file.read(100).decode("ascii", "replace"))
    return next((what for start, what in _DOCUMENTS.items() if any(name.startswith(start) for name in names)), None)


def _cells_of(place: Place) -> Generator[str]:
    """Yield the lines that `sheets.py` prints. Raises `UsageError` if it ended before the last one."""
    with subprocess.Popen(
        [sys.executable, "-P", str(_PROGRAM), str(place.path), place.part or ""],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        start_new_session=True,  # an interrupt from the terminal is for this process alone
    ) as process:
        out: IO[str] = process.stdout  # type: ignore[assignment]
        try:
            while line := out.readline(LONGEST):
                if len(line) == LONGEST:
                    raise UsageError(f"{place.name} has a row that is longer than {LONGEST >> 20} MiB; shorten it.")
                if line.endswith("\n"):
                    yield line
            if process.wait():
                raise UsageError(
                    f"{place.name} cannot be read: it takes too much memory, or is damaged. Save the sheet as CSV, and "
                    "name that file."
                )
        finally:
            process.kill()


def _check(place: Place, about: dict[str, Any]) -> None:
    """Raise `UsageError` if the workbook cannot be read, or if it is not clear which sheet is meant."""
    if "error" in about:
        raise UsageError(f"{place.name} {about['error']}")
    if about["taken"] is not None:
        return
    sheets = {name: f"{counted(rows, 'row')}, {counted(columns, 'column')}" for name, rows, columns in about["sheets"]}
    if not sheets:
        raise UsageError(f"{place.name} is empty.")
    if place.part is None:
        several = f"{place.name} has {len(sheets)} sheets that are not empty; name one of them:"
        raise PartError(several, place.name, sheets)
    whole, hint = place.name.removesuffix(f"{MARK}{place.part}"), did_you_mean(place.part, sheets)
    raise PartError(f"{whole} has no sheet {quoted(place.part)}.{hint} Its sheets:", whole, sheets)


def _rows(lines: Iterator[str], place: Place) -> Iterator[Row]:
    """Yield the rows of a sheet that are not blank, and note how many of its cells hold an error."""
    for number, found in enumerate(map(json.loads, lines), 1):
        if isinstance(found, list):
            if any(map(str.strip, found)):
                yield Row(number, found)
            continue
        if "error" in found:
            raise UsageError(f"{place.name} {found['error']}")
        if place.on_note:
            for name, how in _ODDITIES.items():
                if count := found[name]:
                    place.on_note(f"{counted(count, *how[:2])} {how[2]}")
            if found["struck"]:
                place.on_note("some cells, or parts of them, are struck through, and read like the others")


def _named(rows: Iterator[Row], name: str) -> Iterator[Row]:
    """Yield the header and then the rows, without the columns that have no name.

    Raises:
        UsageError: a row has a value in such a column.
    """
    if (header := next(rows, None)) is None:
        return
    first = list(itertools.islice(rows, 1))
    if not header.cells[0].strip() and first and first[0].cells[0] in ("0", "1"):  # pandas counts the rows there
        header = header._replace(cells=["index", *header.cells[1:]])
    named = [place for place, cell in enumerate(header.cells) if cell.strip()]
    for row in itertools.chain([header], all_named(itertools.chain(first, rows), header, name)):
        yield Row(row.number, [row.cells[place] for place in named])
