"""The rows of a file in batches: CSV, TSV, JSON lines and Parquet, plain or compressed, of any size.

A *row* is a data row: the first one below the header is row 1. Blank lines are no rows. A *line* is a line of the file.
"""

import bz2
import codecs
import csv
import difflib
import gzip
import itertools
import json
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from glassformer.errors import UsageError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "json", ".ndjson": "json", ".json": "json", ".parquet": "parquet"}
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
LONGEST_FIELD = 2**27  # characters; a quote that is never closed would otherwise swallow a file of any size


def iterate_rows(source: Path | BinaryIO, *, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    """Streams a file of any size as frames of at most `rows_per_batch` rows, all with the columns of the first.

    Every column is kept, as String; Parquet keeps its own types. `Path("-")` is standard input; a stream is read as
    JSON lines when it starts with `{`, else as CSV. Raises `UsageError` for what `read_batches` raises it for, and for
    a JSON key that appears for the first time after the first batch.
    """
    columns: list[str] = []
    for batch in read_batches(source, rows_per_batch=rows_per_batch):
        columns = columns or batch.columns
        if late := [name for name in batch.columns if name not in columns]:
            raise UsageError(
                f"{name_of(source)}: the key {late[0]!r} appears for the first time after row {rows_per_batch}. "
                f"Give every row the same keys; a value may be null."
            )
        yield with_columns(batch, columns)


def read_batches(source: Path | BinaryIO, *, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    """The frames of `iterate_rows`, but each batch of JSON lines has the keys of its own rows.

    Raises `UsageError`: no such file, an unknown kind of file, damaged data, no rows, duplicate columns, a malformed
    row (with its row and line), bytes that are not UTF-8 (with their line).
    """
    name = name_of(source)
    empty = True
    try:
        if isinstance(source, Path) and source != Path("-"):
            kind = _format(check_file(source))
            batches = _parquet_batches(source, rows_per_batch) if kind == "parquet" else None
        else:
            kind, batches = "stream", None
        for batch in batches or _text_batches(source, kind, rows_per_batch):
            empty = False
            yield batch
    except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{name} cannot be read, it may be damaged: {error}") from error
    if empty:
        raise UsageError(f"{name} has a header but no rows below it.")


def with_columns(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Exactly these columns, in this order; one that is missing is null (JSON lines leave keys out)."""
    return frame.select(
        pl.col(name) if name in frame.columns else pl.lit(None, pl.String).alias(name) for name in columns
    )


def delimiter_note(path: Path) -> str | None:
    """What was detected about the separator of a .csv file, when it is not the comma that its name promises."""
    if _format(check_file(path)) != "csv":
        return None
    with _opened(path) as stream:
        delimiter = _sniff(next((line for line in _lines(stream, str(path)) if line.strip()), ""))
    return None if delimiter == "," else f"columns are separated by {DELIMITERS[delimiter]} (counted in the header)"


def check_file(path: Path) -> Path:
    """The same path; raises `UsageError` with near names when there is no such file."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        if not path.parent.is_dir():
            raise UsageError(f"No such file: {path} (the folder {path.parent} does not exist).")
        near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir() if other.is_file()])
        hint = f" Near names in {path.parent.resolve()}: {', '.join(near)}." if near else ""
        raise UsageError(f"No such file: {path}.{hint}")
    return path


def name_of(source: Path | BinaryIO) -> str:
    """How messages call the source."""
    return str(source) if isinstance(source, Path) and source != Path("-") else "standard input"


def _format(path: Path) -> str:
    """One of the values of `FORMATS`, by the extension under a compression's own."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".zst"]:
        raise UsageError(f"{path}: zstd is not read; decompress it first: zstd -d {path}")
    if suffixes[-1:] == [".zip"]:
        return _format(Path(_only_member(path)))
    compressed = bool(suffixes) and suffixes[-1] in OPENERS
    kind = FORMATS.get("".join(suffixes[-2:-1] if compressed else suffixes[-1:]))
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
    """The decompressed bytes; a stream that was handed in stays open."""
    if not isinstance(source, Path):
        yield source
    elif source == Path("-"):
        yield sys.stdin.buffer
    elif source.suffix.lower() == ".zip":
        with zipfile.ZipFile(source) as archive, archive.open(_only_member(source)) as member:
            yield cast(BinaryIO, member)
    else:
        with OPENERS.get(source.suffix.lower(), open)(source, "rb") as stream:
            yield cast(BinaryIO, stream)


def _lines(stream: BinaryIO, name: str) -> Iterator[str]:
    for number, raw in enumerate(stream, start=1):
        if number == 1:
            if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise UsageError(
                    f"{name} is UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 {name} > utf8-{Path(name).name}"
                )
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if b"\0" in raw:
            raise UsageError(f"{name}, line {number}: a NUL byte; this is no text file, or one in UTF-16 (see iconv).")
        try:
            yield raw.decode()
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{name}, line {number}: byte {error.start + 1} of the line, 0x{raw[error.start]:02x}, is not UTF-8. "
                f"Convert the file, for example: iconv -f WINDOWS-1252 -t UTF-8 {name} > utf8-{Path(name).name}"
            ) from None


def _text_batches(source: Path | BinaryIO, kind: str, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    name = name_of(source)
    with _opened(source) as stream:
        lines = _lines(stream, name)
        head = list(itertools.islice(lines, 1))
        while head and not head[-1].strip():  # blank lines above the header still count as lines
            head.extend(following := list(itertools.islice(lines, 1)))
            if not following:
                head = []
        if not head:
            raise UsageError(f"{name} is empty.")
        everything = itertools.chain(head, lines)
        if kind == "json" or (kind == "stream" and head[-1].lstrip().startswith("{")):
            yield from _json_batches(everything, name, rows_per_batch)
        else:
            yield from _csv_batches(everything, name, "\t" if kind == "tsv" else _sniff(head[-1]), rows_per_batch)


def _sniff(header: str) -> str:
    """The delimiter that occurs most often in the header line outside quotes; the comma when there is none."""
    bare = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=bare.count)


def _csv_batches(lines: Iterator[str], name: str, delimiter: str, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    csv.field_size_limit(LONGEST_FIELD)
    records = _csv_records(csv.reader(lines, delimiter=delimiter, strict=True), name)
    columns = next(records)
    if repeated := [column for column in dict.fromkeys(columns) if columns.count(column) > 1]:
        raise UsageError(f"{name}: the column name {repeated[0]!r} occurs twice in the header. Rename one of them.")
    while rows := list(itertools.islice(records, rows_per_batch)):
        yield pl.DataFrame(
            [
                pl.Series(column, values, pl.String)
                for column, values in zip(columns, zip(*rows, strict=True), strict=True)
            ]
        )


def _csv_records(reader: Any, name: str) -> Iterator[list[str]]:
    """Header, then rows, all of one length. `reader` is a csv reader, whose type has no public name."""
    row, width = 0, 0
    while True:
        line = reader.line_num + 1
        place = f"{name}, row {row} (line {line})" if row else f"{name}, header (line {line})"
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise UsageError(
                f"{place} is malformed: {error}. A field with a quote, a line break or the separator in it is put in "
                f'double quotes, and a quote inside it is written twice: "".'
            ) from None
        if not fields:
            continue
        width = width or len(fields)
        if len(fields) != width:
            raise UsageError(
                f"{place} has {len(fields)} fields where the header has {width}. "
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
            record = json.loads(line)
            if not isinstance(record, dict) or not record:
                raise ValueError("not an object with at least one key")
            texts = {key: _as_text(value) for key, value in record.items()}
            if "\\u" in line:  # half an escaped surrogate pair is legal JSON, but no text
                "".join(text or "" for pair in texts.items() for text in pair).encode()
        except (ValueError, RecursionError) as error:
            array = line.lstrip().startswith("[")
            hint = f" Turn an array into lines: jq -c '.[]' {name} > lines.jsonl" if array else ""
            raise UsageError(
                f"{name}, row {row} (line {number}) is malformed: {error}. "
                f"One JSON object is expected on each line.{hint}"
            ) from None
        yield texts
        row += 1


def _as_text(value: object) -> str | None:
    """Numbers, truth values, lists and objects as JSON writes them; not-a-number is missing."""
    if value is None or value != value:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parquet_batches(path: Path, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    table = pl.scan_parquet(path, glob=False)
    n_rows = table.select(pl.len()).collect().item()
    for start in range(0, n_rows, rows_per_batch):
        yield table.slice(start, rows_per_batch).collect()
