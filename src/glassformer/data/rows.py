"""Read the rows of a file of any size in batches: CSV, TSV, JSON lines and Parquet, plain or compressed.

A *row* is a data row: the first one below the header is row 1. Blank lines do not count as rows. A *line* is a line of
the file.
"""

import bz2
import codecs
import csv
import difflib
import gzip
import io
import itertools
import json
import lzma
import re
import stat
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from glassformer.data.lines import LONGEST, STANDARD_INPUT, bounded_lines, check_start, decoded
from glassformer.errors import UsageError, quoted

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "json", ".ndjson": "json", ".json": "json", ".parquet": "parquet"}
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
MOST_DIGITS = 100
DAMAGE = (
    *(EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
"""What reading a damaged file raises."""
_SEPARATOR_TOLD = re.compile(r"sep=([,;\t|])", re.IGNORECASE)
EXCEL = (".xlsx", ".xls", ".ods")


@dataclass(frozen=True, kw_only=True)
class Delimited:
    """How the columns of a text file are separated, and whether it begins with a byte order mark."""

    separator: str = ","
    mark: bool = False


OnDelimited = Callable[[Delimited], None]


def iterate_rows(
    source: Path | BinaryIO, *, rows_per_batch: int, on_delimited: OnDelimited | None = None
) -> Iterator[pl.DataFrame]:
    """Stream a file of any size as frames of at most `rows_per_batch` rows. All have the columns of the first frame.

    Every column is kept as String; Parquet keeps its own types. `Path("-")` is standard input. A stream that starts
    with `{` is read as JSON lines, any other as CSV. `on_delimited` is called for a CSV or TSV, before the first frame.
    Raises `UsageError` like `read_batches`, and for a JSON key that
    appears for the first time after the first batch.
    """
    columns: dict[str, None] = {}
    for batch in read_batches(source, rows_per_batch=rows_per_batch, on_delimited=on_delimited):
        columns = columns or dict.fromkeys(batch.columns)
        if late := [name for name in batch.columns if name not in columns]:
            raise UsageError(
                f"{name_of(source)}: the key {late[0]!r} appears for the first time after row {rows_per_batch}. "
                f"Give every row the same keys; a value may be null."
            )
        yield with_columns(batch, list(columns))


def read_batches(
    source: Path | BinaryIO, *, rows_per_batch: int, on_delimited: OnDelimited | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the frames of `iterate_rows`, but each batch of JSON lines has the keys of its own rows.

    Raises `UsageError` if the file does not exist, is of an unknown kind, is damaged, has no rows or has duplicate
    columns. Also for a malformed row (with its row and line) and for bytes that are not UTF-8 (with their line).
    """
    name = name_of(source)
    empty = True
    try:
        if isinstance(source, Path) and source != Path("-"):
            kind = format_of(check_file(source))
            batches = _parquet_batches(source, rows_per_batch) if kind == "parquet" else None
        else:
            kind, batches = "stream", None
        for batch in batches or _text_batches(source, kind, rows_per_batch, on_delimited):
            empty = False
            yield batch
    except DAMAGE as error:
        raise UsageError(f"{name} cannot be read, it may be damaged: {error}") from error
    if empty:
        raise UsageError(f"{name} has a header but no rows below it.")


def with_columns(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Return exactly these columns, in this order. A missing column is null, as JSON lines may leave keys out."""
    missing = set(columns) - set(frame.columns)
    return frame.with_columns(pl.lit(None, pl.String).alias(name) for name in missing).select(columns)


def delimiter_note(path: Path) -> str | None:
    """Return a note on the separator of a .csv file, or None if it is a comma."""
    if format_of(check_file(path)) != "csv":
        return None
    with _opened(path) as stream:
        delimiter = _sniff(_first_line(_lines(bounded_lines(stream, str(path)), str(path)))[1])
    return None if delimiter == "," else f"columns are separated by {DELIMITERS[delimiter]} (counted in the header)"


def check_file(path: Path) -> Path:
    """Return the path. Raises `UsageError` if it is not a file; the message suggests names that are spelled alike."""
    try:
        mode = path.stat().st_mode if path.exists() else None
    except OSError as error:
        raise UsageError(f"{quoted(path)} cannot be read: {error.strerror}.") from error
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"{path} is a folder; name a file in it.")
    if mode is not None and not stat.S_ISREG(mode):
        raise UsageError(
            f"{path} is a pipe or a device, and a table is read more than once; write it into a file first. "
            f"Only `glassformer predict` can read standard input."
        )
    if mode is None:
        if not path.parent.is_dir():
            raise UsageError(f"No such file: {path} (the folder {path.parent} does not exist).")
        near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir() if other.is_file()])
        hint = f" Near names in {path.parent.resolve()}: {', '.join(near)}." if near else ""
        what = "file" if path.suffix else "file or folder"
        raise UsageError(f"No such {what}: {path}.{hint}")
    return path


def name_of(source: Path | BinaryIO) -> str:
    """Return the name of the source in messages."""
    return str(source) if isinstance(source, Path) and source != Path("-") else STANDARD_INPUT


def format_of(path: Path) -> str:
    """Return a value of `FORMATS` for the file's extension. The extension of a compression is skipped.

    Raises `UsageError` if it is none of a table.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".zst"]:
        raise UsageError(f"{path}: zstd is not read; decompress it first: zstd -d {path}")
    if suffixes[-1:] == [".zip"]:
        return format_of(Path(_only_member(path)))
    compressed = bool(suffixes) and suffixes[-1] in OPENERS
    kind = FORMATS.get("".join(suffixes[-2:-1] if compressed else suffixes[-1:]))
    if suffixes[-1:] and suffixes[-1] in EXCEL:
        raise UsageError(f"{path} is a workbook; save the sheet as CSV, with UTF-8 as its encoding.")
    if kind is None or (compressed and kind == "parquet"):
        raise UsageError(
            f"{path}: the extension does not say what kind of table this is. Known: {', '.join(FORMATS)}; "
            f"all but .parquet may be compressed as .gz, .bz2, .xz or .zip."
        )
    return kind


def _only_member(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(names) != 1 or names[0].lower().endswith((".zip", ".parquet")):
        raise UsageError(f"{path} should hold exactly one CSV, TSV or JSON lines file; it holds: {', '.join(names)}.")
    return names[0]


@contextmanager
def _opened(source: Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open the decompressed bytes. A stream that was passed in stays open."""
    if not isinstance(source, Path):
        yield source
    elif source == Path("-"):
        yield sys.stdin.buffer
    elif source.suffix.lower() == ".zip":
        with zipfile.ZipFile(source) as archive, archive.open(_only_member(source)) as member:
            yield io.BufferedReader(cast(io.RawIOBase, member))  # its own readline is slow with a limit
    else:
        with OPENERS.get(source.suffix.lower(), open)(source, "rb") as stream:
            yield cast(BinaryIO, stream)


def _lines(raw_lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, raw in enumerate(raw_lines, start=1):
        if number == 1:
            check_start(raw, name)
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if b"\0" in raw:
            raise UsageError(
                f"{name}, line {number}: a NUL byte, so this is not a text file. Is it a CSV, TSV or JSON file?"
            )
        yield decoded(raw, name, number)


def _text_batches(
    source: Path | BinaryIO, kind: str, rows_per_batch: int, on_delimited: OnDelimited | None
) -> Iterator[pl.DataFrame]:
    name = name_of(source)
    with _opened(source) as stream:
        raw_lines = bounded_lines(stream, name)
        first = next(raw_lines, b"")
        lines = _lines(itertools.chain([first], raw_lines), name)
        blank, header = _first_line(lines)
        if not header:
            raise UsageError(f"{name} is empty.")
        if "\r" in "".join(header.rstrip("\r\n").split('"')[::2]):
            raise UsageError(
                f"{name}: the lines end in carriage returns alone, as on old Macs. "
                f"Convert them, for example: tr '\\r' '\\n'"
            )
        told = _SEPARATOR_TOLD.fullmatch(header.rstrip("\r\n"))
        everything = itertools.chain(itertools.repeat("\n", blank), ["\n" if told else header], lines)
        if kind == "json" or (kind == "stream" and header.lstrip().startswith("{")):
            yield from _json_batches(everything, name, rows_per_batch)
            return
        separator = "\t" if kind == "tsv" else _sniff(header)
        if on_delimited:
            on_delimited(Delimited(separator=separator, mark=first.startswith(codecs.BOM_UTF8)))
        yield from _csv_batches(everything, name, separator, rows_per_batch)


def _first_line(lines: Iterator[str]) -> tuple[int, str]:
    """Return the number of blank lines before the first line with text, and that line ("" if there is none)."""
    return next(((blank, line) for blank, line in enumerate(lines) if line.strip()), (0, ""))


def _sniff(header: str) -> str:
    """Return the delimiter that occurs most often in the header line outside quotes, or the comma if none occurs.

    Excel may name the delimiter in an extra line above the header: `sep=;`.
    """
    if told := _SEPARATOR_TOLD.fullmatch(header.rstrip("\r\n")):
        return str(told[1])
    bare = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=bare.count)


def _csv_batches(lines: Iterator[str], name: str, delimiter: str, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    records = _csv_records(lines, name, delimiter)
    columns = next(records, None)
    if columns is None:
        raise UsageError(f"{name} is empty.")
    if repeated := [column for column, count in Counter(columns).items() if count > 1]:
        raise UsageError(f"{name}: the column name {quoted(repeated[0])} occurs twice in the header. Rename one.")
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


def _json_batches(lines: Iterator[str], name: str, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    records = _json_records(lines, name)
    while rows := list(itertools.islice(records, rows_per_batch)):
        columns = dict.fromkeys(key for row in rows for key in row)
        yield pl.DataFrame([pl.Series(key, [row.get(key) for row in rows], pl.String) for key in columns])


def _json_records(lines: Iterator[str], name: str) -> Iterator[dict[str, str | None]]:
    row = 1
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_int=_whole_number)
            if not isinstance(record, dict) or not record:
                raise ValueError("not an object with at least one key")
            texts = {key: _as_text(value) for key, value in record.items()}
            if "\\u" in line:  # half an escaped surrogate pair is legal JSON, but not legal text
                "".join(text or "" for pair in texts.items() for text in pair).encode()
        except (ValueError, RecursionError) as error:
            array = line.lstrip().startswith("[")
            error = ValueError("it is nested too deeply") if isinstance(error, RecursionError) else error
            hint = f" Turn an array into lines: jq -c '.[]' {name} > lines.jsonl" if array else ""
            raise UsageError(
                f"{name}, row {row} (line {number}) is malformed: {error}. "
                f"One JSON object is expected on each line.{hint}"
            ) from None
        yield texts
        row += 1


def _whole_number(digits: str) -> int | str:
    """Return the number, or the digits as text if there are too many: Python refuses to convert thousands of digits."""
    return int(digits) if len(digits) < MOST_DIGITS else digits


def _as_text(value: object) -> str | None:
    """Return numbers, truth values, lists and objects as JSON text. NaN counts as missing."""
    if value is None or value != value:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parquet_batches(path: Path, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    table = pl.scan_parquet(path, glob=False)
    n_rows = table.select(pl.len()).collect().item()
    for start in range(0, n_rows, rows_per_batch):
        batch = table.slice(start, rows_per_batch).collect()
        for column in batch.select(pl.col(pl.String)).iter_columns():
            too_long = (column.str.len_bytes() > LONGEST).arg_true()
            if len(too_long):
                raise UsageError(
                    f"{path}, row {start + 1 + too_long[0]}: the value of {quoted(column.name)} is longer than "
                    f"{LONGEST >> 20} MiB. Shorten it, or remove the row."
                )
        yield batch
