"""Read the rows of a table of any size in batches, whatever its format, and whether it is in one file or in several.

A *row* is a data row: the first one below the header is row 1. Blank lines do not count as rows. A *line* is a line of
the file.
"""

import difflib
import shlex
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, Unpack

import polars as pl
import polars.selectors as cs

from glassformer.data.class_folders import class_folders, is_class_folder, texts_of_classes
from glassformer.data.encodings import named_encoding
from glassformer.data.files import version_of
from glassformer.data.folder_encoding import SharedEncoding, beginning_beyond_ascii
from glassformer.data.formats import compressions
from glassformer.data.formats.all_formats import format_of, located
from glassformer.data.formats.delimited import CSV
from glassformer.data.formats.format import Heard, Place
from glassformer.data.formats.json_lines import JSON_LINES
from glassformer.data.formats.text import lines_at
from glassformer.data.lines import LONGEST_VALUE, STANDARD_INPUT, OnNote
from glassformer.data.parts import PartError, file_of, listing_of, split_part
from glassformer.errors import UsageError, is_out_of_memory, is_out_of_threads, name_as, quoted

DAMAGE = (
    *(*compressions.DAMAGE, zipfile.BadZipFile, RuntimeError, NotImplementedError),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
"""What reading a damaged file raises."""
ROWS_PER_BATCH = 16_384  # enough rows to tell the columns apart, few enough to hold as Python strings


_MAGIC = {b"PK\x03\x04": ".zip", b"\xd0\xcf\x11\xe0": ".xls", b"PAR1": ".parquet", b"ARROW1": ".arrow"}
_OF_A_DAY = {unit: 86_400 * 10**digits for unit, digits in (("ms", 3), ("us", 6), ("ns", 9))}
_MOST_DAYS = 3_000_000  # beside 1970: to the year 10183


def iterate_rows(source: Path | BinaryIO, *, rows_per_batch: int, **heard: Unpack[Heard]) -> Iterator[pl.DataFrame]:
    """Stream a file of any size as frames of at most `rows_per_batch` rows. All have the columns of the first frame.

    Every column is kept as String; Parquet keeps its own types. `Path("-")` is standard input. A stream that starts
    with `{` or `[` is read as JSON, any other as CSV. Raises `UsageError` as `read_batches` does, and for a JSON key
    that first appears after the first batch.
    """
    columns: dict[str, None] = {}
    for batch in read_batches(source, rows_per_batch=rows_per_batch, **heard):
        columns = columns or dict.fromkeys(batch.columns)
        if late := [name for name in batch.columns if name not in columns]:
            raise UsageError(
                f"{name_of(source)}: the key {late[0]!r} appears for the first time after row {rows_per_batch}. "
                f"Give every row the same keys; a value may be null."
            )
        yield with_columns(batch, list(columns))


def read_batches(source: Path | BinaryIO, *, rows_per_batch: int, **heard: Unpack[Heard]) -> Iterator[pl.DataFrame]:
    """Yield the frames of `iterate_rows`, but each batch of JSON lines has the keys of its own rows.

    Raises `UsageError` if the file does not exist, is of an unknown kind, is damaged or has no rows. Also for a
    malformed row (with its row and line) and for bytes that fit no encoding (with their line).
    """
    name = name_of(source)
    if not isinstance(source, Path) or source == Path("-"):
        return _checked(_piped(Place(name=name, file=source, **heard), rows_per_batch), name)
    check_file(source)
    on_note = heard.get("on_note")
    if folders := class_folders(source):
        return batches_of(folders, rows_per_batch=rows_per_batch, on_note=on_note)
    tables = located(source)
    if on_note and named_encoding() and not tables[0].format.is_text:
        on_note("no text file, so `encoding=` says nothing of it")
    if len(tables) > 1:
        return batches_of([table.address for table in tables], rows_per_batch=rows_per_batch, on_note=on_note)

    def rows() -> Iterator[pl.DataFrame]:
        with tables[0].opened(**heard) as place:
            yield from tables[0].format.batches(place, rows_per_batch)

    return _unchanged(_checked(rows(), name), file_of(source))


def batches_of(files: Sequence[Path], *, rows_per_batch: int, on_note: OnNote | None = None) -> Iterator[pl.DataFrame]:
    """Yield the batches of all files (see `read_batches`). The files have the same columns, in any order.

    `on_note` is called with sentences on what was found. One of several files is named, unless all say the same.
    The encoding of those that are not UTF-8 is found by all of them.

    Raises:
        UsageError: a file cannot be read, or has other columns than the first one. The message names it.
    """
    if is_class_folder(files[0]):
        texts = texts_of_classes(files, rows_per_batch=rows_per_batch, on_note=on_note)
        yield from _checked(texts, str(files[0].parent))
        return
    columns: set[str] = set()
    said: set[str] = set()
    encoding_of = encodings_of(files, on_note)
    for file in files:

        def note(sentence: str, file: Path = file) -> None:
            is_encoding = sentence.startswith("read as ")  # its evidence differs from file to file
            what = sentence.partition(":")[0] if is_encoding else sentence
            if on_note and what not in said:
                said.add(what)
                on_note(sentence if file == files[0] else f"{file.name}: {sentence}")

        fallback = partial(encoding_of, file)
        for batch in read_batches(file, rows_per_batch=rows_per_batch, on_note=note, fallback=fallback):
            if not columns:
                columns = set(batch.columns)
                for other in files[1:2]:  # before a column is missed that only the others have
                    _check_alike(files, columns, other, _first_row(other, encoding_of))
            _check_alike(files, columns, file, batch)
            yield batch


def cells_of(files: Sequence[Path], rows: pl.Series, columns: Mapping[str, str]) -> pl.DataFrame:
    """Read some rows of the files as strings.

    Args:
        rows: their numbers.
        columns: new name → name in the file.
    """
    parts, begun = [], 1
    for batch in batches_of(files, rows_per_batch=ROWS_PER_BATCH):
        numbers = pl.Series("row", range(begun, begun + batch.height), rows.dtype)
        wanted = numbers.is_in(rows.implode())
        part = with_columns(batch.filter(wanted), list(dict.fromkeys(columns.values())))
        cells = part.select(pl.col(own).cast(pl.String).alias(name) for name, own in columns.items())
        parts.append(cells.insert_column(0, numbers.filter(wanted)))
        begun += batch.height
    return pl.concat(parts)


def check_columns(files: Sequence[Path]) -> None:
    """Raise what `batches_of` raises if the first row of a file cannot be read, or has other columns than the first."""
    if len(files) == 1 or is_class_folder(files[0]):
        return
    encoding_of = encodings_of(files)
    columns = set(_first_row(files[0], encoding_of).columns)
    for file in files[1:]:
        _check_alike(files, columns, file, _first_row(file, encoding_of))


def _first_row(file: Path, encoding_of: Callable[[Path], str | None]) -> pl.DataFrame:
    return next(read_batches(file, rows_per_batch=1, fallback=partial(encoding_of, file)))


def _check_alike(files: Sequence[Path], columns: set[str], file: Path, rows: pl.DataFrame) -> None:
    """Raise `UsageError` if the rows of a file have other columns than the first file."""
    odd = columns.symmetric_difference(rows.columns)
    if not odd or format_of(file) == JSON_LINES:  # rows of JSON lines may leave keys out
        return
    which = "has a column" if min(odd) in rows.columns else "lacks the column"
    message = (
        f"{file} {which} {quoted(min(odd))}, unlike {files[0].name}. Several files are read as one table, so they need "
        "the same columns; or name one of them:"
    )
    archive, member = split_part(files[0])
    if member is not None:
        raise PartError(message, archive, {split_part(each)[1] or "": "" for each in files})
    raise UsageError(message, listing_of([f"  {shlex.quote(str(each))}" for each in files]))


def encodings_of(files: Sequence[Path], on_note: OnNote | None = None) -> Callable[[Path], str | None]:
    """Return what gives the encoding of each of several files, as all tell it. One file alone tells it as it is read.

    `on_note` is called with a sentence on what was found.
    """
    if len(files) == 1:
        return lambda _: None
    return SharedEncoding(files, _sample_of, lambda file: file.name, on_note).of


def _sample_of(file: Path) -> bytes:
    """Return lines of one of several files that tell its encoding, if it is a text."""
    tables = located(file)
    if len(tables) > 1 or not tables[0].format.is_text:
        return b""
    try:
        with tables[0].opened() as place, place.opened() as stream:
            return beginning_beyond_ascii(stream)
    except (UsageError, *DAMAGE):  # it is said when its turn comes
        return b""


def _checked(batches: Iterator[pl.DataFrame], name: str) -> Iterator[pl.DataFrame]:
    """Yield the batches. Raises `UsageError` if there is none, or if the file is damaged."""
    rows = 0
    try:
        for batch in batches:
            _check_lengths(batch, rows, name)
            _check_dates(batch, rows, name)
            rows += batch.height
            yield batch
    except DAMAGE as error:
        if is_out_of_memory(error) or is_out_of_threads(error):
            raise
        raise UsageError(f"{name} cannot be read, it may be damaged: {error}") from error
    if not rows:
        raise UsageError(f"{name} has a header but no rows below it.")


def _check_lengths(batch: pl.DataFrame, before: int, name: str) -> None:
    """Raise `UsageError` if a value is longer than `LONGEST_VALUE`."""
    longest = batch.select(pl.col(pl.String).str.len_bytes().max())  # of all columns at once: there may be thousands
    for column, length in longest.to_dicts()[0].items() if longest.width else ():
        if length is not None and length > LONGEST_VALUE:
            row = (batch[column].str.len_bytes() > LONGEST_VALUE).arg_true()[0]
            raise UsageError(
                f"{name}, row {before + 1 + row:,}: the value of {quoted(column)} is longer than "
                f"{LONGEST_VALUE >> 20} MiB. Shorten it, or remove the row."
            )


def _check_dates(batch: pl.DataFrame, before: int, name: str) -> None:
    """Raise `UsageError` if a date is of no year that can be written: Polars would end the program."""
    for column in batch.select(cs.date() | cs.datetime()).iter_columns():
        unit = getattr(column.dtype, "time_unit", None)  # a day has none
        days = column.to_physical() // (1 if unit is None else _OF_A_DAY[unit])
        odd = ((days > _MOST_DAYS) | (days < -_MOST_DAYS)).arg_true()
        if len(odd):
            raise UsageError(
                f"{name}, row {before + 1 + odd[0]:,}: the date in {quoted(column.name)} is of no year that can be "
                "written. Correct it, or remove the column."
            )


@contextmanager
def unchanged(file: Path) -> Iterator[None]:
    """Raise `UsageError` at the end, or in place of an error, if another program wrote to the file meanwhile.

    A file that is cut short where a row ends looks like a whole one.
    """
    before = version_of(file)
    error: Exception | None = None
    try:
        yield
    except (UsageError, *DAMAGE) as raised:
        error = raised
    check_unchanged(file, before, error)
    if error is not None:
        raise error


def check_unchanged(file: Path, before: tuple[int, ...] | None, error: Exception | None = None) -> None:
    """Raise `UsageError` if the file is of another version than before, or was not there."""
    if before is None or version_of(file) != before:
        raise UsageError(
            f"{file} changed while it was read, so rows may be missing. Wait until the program that writes it "
            "ends, and run the command again."
        ) from error


def _unchanged(batches: Iterator[pl.DataFrame], file: Path) -> Iterator[pl.DataFrame]:
    with unchanged(file):
        yield from batches


def _piped(place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
    """Yield the batches of a stream, whose first bytes tell the format. What is no text is written to a file first."""
    with place.opened() as stream:
        peek = getattr(stream, "peek", None)
        if peek is not None and peek(1).startswith(tuple(_MAGIC)):
            with tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
                yield from read_batches(
                    _written(stream, Path(folder)), rows_per_batch=rows_per_batch, on_note=place.on_note
                )
            return
    with lines_at(place, in_pieces=True) as lines:  # only JSON begins with [
        kind = JSON_LINES if lines.first.lstrip().startswith(("{", "[")) else CSV
        yield from kind.of_lines(lines, place, rows_per_batch)


def _written(stream: BinaryIO, folder: Path) -> Path:
    """Write a workbook, an archive or a Parquet or Arrow file, whose content tells its extension."""
    file = folder / "table"
    with file.open("wb") as out:
        shutil.copyfileobj(stream, out)
    with file.open("rb") as written:
        start = written.read(8)
    kind = next(extension for magic, extension in _MAGIC.items() if start.startswith(magic))
    if kind == ".zip" and zipfile.is_zipfile(file):
        names = {*zipfile.ZipFile(file).namelist()}
        kind = ".xlsx" if "[Content_Types].xml" in names else ".ods" if "content.xml" in names else kind
    file = file.rename(file.with_suffix(kind))
    name_as(str(file), STANDARD_INPUT)
    return file


def with_columns(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Return exactly these columns, in this order. A missing column is null, as JSON lines may leave keys out."""
    missing = set(columns) - set(frame.columns)
    return frame.with_columns(pl.lit(None, pl.String).alias(name) for name in missing).select(columns)


def check_file(address: Path) -> Path:
    """Return the file of an address, without the part that it names.

    Raises `UsageError` if it is not a file. The message suggests names that are spelled alike.
    """
    path = file_of(address)
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
        near = difflib.get_close_matches(
            path.name, [other.name for other in path.parent.iterdir() if other.is_file()], cutoff=0.7
        )
        hint = f" Near names in {path.parent.resolve()}: {', '.join(near)}." if near else ""
        what = "file" if path.suffix else "file or folder"
        raise UsageError(f"No such {what}: {path}.{hint}")
    return path


def name_of(source: Path | BinaryIO) -> str:
    return str(source) if isinstance(source, Path) and source != Path("-") else STANDARD_INPUT
