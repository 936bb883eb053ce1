"""Read the texts of a table, and write its rows with their answers to a file: CSV, TSV, JSON lines, XLSX, Parquet."""

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import polars as pl

from glassformer.data.addresses import is_elsewhere
from glassformer.data.formats.columnar import scanned
from glassformer.data.formats.format import Delimited
from glassformer.data.formats.workbook import WORKBOOK
from glassformer.data.installed import is_installed
from glassformer.data.parts import file_of
from glassformer.data.rows import iterate_rows
from glassformer.errors import UsageError
from glassformer.targets.answers import Answers

TextsOf = Callable[[pl.DataFrame], list[str]]
"""Returns the texts of a frame, or its composed rows. A missing text becomes an empty one."""

SEPARATORS = {".csv": ",", ".tsv": "\t", ".jsonl": None, ".ndjson": None}
"""The extensions of text files, and what separates their columns. None: JSON lines."""
XLSX = ".xlsx"

_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"  # spreadsheets of East Asian languages also read full-width signs
_NUMBER = r"^[+-][0-9.,]+(?:[eE][+-]?[0-9]+)?%?$"


def texts_in(text_column: str) -> TextsOf:
    return lambda frame: frame[text_column].cast(pl.String).fill_null("").to_list()


def refuse_taken(frame: pl.DataFrame, added: Iterable[str], source: str, like: Delimited | None = None) -> None:
    """Raise `UsageError` if the table already has a column with the name of an added one, or `like` an object."""
    if taken := [name for name in added if name in (*frame.columns, *(like.within.values() if like else ()))]:
        raise UsageError(
            f"{source} already has a column {taken[0]!r}, and the answers need this name; rename the column"
        )


def rows_of(frame: pl.DataFrame, like: Delimited) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame as JSON values: those of JSON as they stand in the file that `like` is of."""
    if not like.records:
        return _as_json(frame)
    return (_as_in_file(row, like) for row in frame.iter_rows(named=True))


def _as_in_file(row: dict[str, Any], like: Delimited) -> dict[str, Any]:
    """Return the next record with the texts of this row, or the row itself: rows may have been left out."""
    while like.records:
        texts, record = like.records.popleft()
        if all(texts.get(name) == text for name, text in row.items()):
            return {key: record.get(key) for key in dict.fromkeys(like.within.get(name, name) for name in row)}
    return row


def _as_json(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    lines = frame.write_ndjson().rstrip("\n").split("\n") if frame.height else ()
    return map(json.loads, lines)


@dataclass(frozen=True)
class Columns:
    """Columns that are written beside those of a table, as `Answers` are."""

    frame: pl.DataFrame

    def columns(self) -> pl.DataFrame:
        return self.frame

    @property
    def record_keys(self) -> list[str]:
        return self.frame.columns

    def lines(self, rows: Iterable[dict[str, Any]]) -> Iterator[str]:
        added = _as_json(self.frame) if self.frame.width else repeat({})
        return (json.dumps({**row, **more}, ensure_ascii=False) for row, more in zip(rows, added, strict=False))


WriteAnswers = Callable[[pl.DataFrame, Answers | Columns], None]


@contextmanager
def answer_file(path: Path, *, name: Path, table: Path, like: Delimited, safe: bool) -> Iterator[WriteAnswers]:
    """Yield a function that writes a frame with its answers to a file.

    Args:
        name: the name that the file will have. Its extension sets the format. Parquet needs such a table, or Arrow.
        table: the table that the frames come from.
        like: how the table is written. CSV keeps it, except tabs.
        safe: write cells that a spreadsheet could run as a formula as text.
    """
    if kind_of(name) == ".parquet":
        yield from _parquet_answers(path, table)
        return
    separator = separator_of(name, like)
    if separator is None:
        with opened_to_write(path, compressed=name.suffix == ".gz") as file:
            yield json_answers(lambda lines: write_lines_to(file, lines), like, source=str(table))
    else:
        with table_file(path, name) as rows:
            yield csv_answers(rows(replace(like, separator=separator), safe=safe), separator, source=str(table))


def csv_answers(write: Callable[[pl.DataFrame], None], separator: str, *, source: str) -> WriteAnswers:
    """Return a function that writes a frame with the columns of the answers."""

    def write_answered(frame: pl.DataFrame, answers: Answers | Columns) -> None:
        added = answers.columns()
        refuse_taken(frame, added.columns, source)
        check_columns(frame, separator)
        write(frame.hstack(added))

    return write_answered


def json_answers(write: Callable[[Iterable[str]], None], like: Delimited, *, source: str) -> WriteAnswers:
    """Return a function that writes a frame as lines of JSON: of each row its columns, then its answer."""

    def write_records(frame: pl.DataFrame, answers: Answers | Columns) -> None:
        refuse_taken(frame, answers.record_keys, source, like)
        check_columns(frame, None)
        write(answers.lines(rows_of(frame, like)))

    return write_records


def _parquet_answers(path: Path, table: Path) -> Iterator[WriteAnswers]:
    """Keep the answers of the whole table, and put them beside its own columns at the end, which are read again.

    The caller sees to it that the table stays as it is meanwhile.
    """
    kept: list[pl.DataFrame] = []

    def write(frame: pl.DataFrame, answers: Answers | Columns) -> None:
        kept.append(answers.columns())
        refuse_taken(frame, kept[-1].columns, str(table))

    yield write
    pl.concat([scanned(table), pl.concat(kept).lazy()], how="horizontal").sink_parquet(path)


@contextmanager
def table_file(path: Path, name: Path) -> Iterator[Callable[..., Callable[[pl.DataFrame], None]]]:
    """Open a workbook or a text file of separated columns, and yield `csv_rows` without its first argument.

    Args:
        name: the name that the file will have. A workbook takes no notice of the arguments of `csv_rows`.
    """
    if name.suffix == XLSX:
        from glassformer.prediction.workbook_file import new_workbook  # of an extra

        with new_workbook(path) as sheet:
            yield lambda *_, **__: sheet.write
    else:
        with opened_to_write(path, compressed=name.suffix == ".gz") as file:
            yield partial(csv_rows, file.write)


def csv_rows(
    write_bytes: Callable[[bytes], object], like: Delimited, *, safe: bool = False
) -> Callable[[pl.DataFrame], None]:
    """Return a function that writes rows as CSV, with a header before the first ones."""
    header = True

    def write(rows: pl.DataFrame) -> None:
        nonlocal header
        rows = without_formulas(rows) if safe else rows
        written = rows.write_csv(
            include_header=header, include_bom=header and like.mark, separator=like.separator,
            decimal_comma=like.decimal_comma, line_terminator=like.line_end,
        )  # fmt: skip
        write_bytes(written.encode())
        header = False

    return write


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put a single quote before each cell and column name that a spreadsheet could run as a formula.

    This is the advice of OWASP ("CSV Injection"). A number such as -5 is not a formula.
    """
    text = pl.col(pl.String)
    formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    safe = frame.with_columns(pl.when(formula).then("'" + text).otherwise(text).name.keep())
    return safe.rename(lambda name: f"'{name}" if re.match(_FORMULA, name) else name)


def check_columns(frame: pl.DataFrame, separator: str | None) -> None:
    """Raise `UsageError` if a column of the table, for example from Parquet, cannot be written as text."""
    for name, dtype in frame.schema.items():
        if "Binary" in str(dtype) or (separator is not None and (dtype.is_nested() or dtype == pl.Duration)):
            way_out = "leave it out" if "Binary" in str(dtype) else "leave it out, or write answers as .jsonl"
            raise UsageError(f"the column {name!r} holds {dtype}, which cannot be written in this format; {way_out}")


@contextmanager
def opened_to_write(path: Path, *, compressed: bool) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with gzip.open(path, "wb") if compressed else path.open("wb") as file:
        yield file


def write_lines_to(file: IO[bytes] | gzip.GzipFile, lines: Iterable[str]) -> None:
    file.writelines(f"{line}\n".encode() for line in lines)


def written_like(table: str | Path) -> Delimited:
    """Return how a CSV of other rows is written, for the program that opens the table."""
    found = [Delimited()]
    if not is_elsewhere(str(table)) and file_of(Path(table)).is_file():
        next(iterate_rows(Path(table), rows_per_batch=1, on_delimited=found.append))
    return found[-1].as_csv


def ending_like(table: Path) -> str:
    """Return the ending of a file that a person opens in the program of a table: of a workbook it is one.

    Where commas are decimal points, Excel shows a CSV as one column.
    """
    is_workbook = file_of(table).suffix.lower() in WORKBOOK.extensions and is_installed("xlsxwriter")
    return XLSX if is_workbook else ".csv"


def kind_of(path: Path) -> str:
    """Return the extension that says what kind of table this is, without that of a compression."""
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def separator_of(path: Path, like: Delimited) -> str | None:
    """Return what separates the columns of a file: for CSV the separator of `like`, unless that is a tab."""
    separator = SEPARATORS.get(kind_of(path), ",")
    return like.as_csv.separator if separator == "," else separator
