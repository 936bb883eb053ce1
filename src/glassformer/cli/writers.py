"""Write answers to standard output, or to a file: completely or not at all."""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from glassformer.cli.output import one_line, show, write_json, write_table
from glassformer.data.files import written_aside
from glassformer.data.json_files import read_json
from glassformer.errors import GlassformerError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from glassformer.data.rows import Delimited
    from glassformer.prediction.answers import Answers

WriteLines = Callable[[Iterable[str]], None]
WriteAnswers = Callable[["pl.DataFrame", "Answers"], None]
Style = Literal["plain", "json", "jsonl"]

LONGEST_SHOWN = 200
"""The characters of a text that are shown beside its answer. JSON holds the whole text."""

_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"  # spreadsheets of East Asian languages also read full-width signs
_NUMBER = r"^[+-][0-9.,]+(?:[eE][+-]?[0-9]+)?%?$"
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".jsonl": None, ".ndjson": None}  # None: JSON lines


def check_out(out: Path, table: Path | None, *, overwrite: bool) -> None:
    """Raise `UsageError` if a table cannot be written to this path, or if a file there must not be replaced.

    Args:
        table: the table that is read.
    """
    if _kind(out) not in _SEPARATORS:
        raise UsageError(f"--out {out}: write answers as {', '.join(_SEPARATORS)}, each also with .gz")
    check_parent("--out", out)
    if table is not None and out.exists() and table.exists() and out.samefile(table):
        raise UsageError(f"--out {out} is the table that is read; name another file")
    if out.exists() and not overwrite:
        raise UsageError(f"{out} is already there; choose another --out, or --overwrite to replace it")


def check_parent(flag: str, path: Path | None) -> None:
    """Raise `UsageError` if the folder of a file that is to be written does not exist, or the file is a folder.

    Args:
        flag: the option that names the file. Nothing is checked if it was not given.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{flag} {path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{flag} {path}: there is no folder {path.parent}")


def check_folder(out: Path, *, ours: str | None = None) -> None:
    """Raise `UsageError` if a folder cannot be written to this path.

    Args:
        ours: the name of a file that our command writes. A folder that holds other files but not this one is refused.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; name a folder")
    if ours is not None and out.is_dir() and any(out.iterdir()) and not (out / ours).is_file():
        raise UsageError(f"{out} is a folder with other files in it; choose an --out that is new or empty")


def check_replaced(out: Path, names: Sequence[str], *, key: str) -> None:
    """Raise `UsageError` if the folder holds files of these names that another program wrote.

    Args:
        names: the files that our command replaces. The first one is JSON.
        key: a name at the top level of our JSON.
    """
    there = [out / name for name in names if (out / name).is_file()]
    if not there:
        return
    try:
        found = read_json(out / names[0])
    except GlassformerError:
        found = None
    if not isinstance(found, dict) or key not in found:
        raise UsageError(f"{there[0]} was written by another program and would be replaced; choose another --out")


@contextmanager
def write_answers(
    out: Path | None, style: Style, *, labels: tuple[Any, ...], source: str, like: Delimited, safe: bool
) -> Iterator[WriteAnswers]:
    """Yield a function that writes a frame with its answers, to standard output or to a file.

    The file is written under another name and renamed at the end.

    Args:
        style: the format of standard output. The format of a file depends on its ending.
        labels: the labels of the model.
        source: the name of the table in messages.
        like: how the columns of the table are separated. CSV keeps it, except tabs; it keeps a byte order mark too.
        safe: write cells that a spreadsheet could run as a formula as text.
    """
    from glassformer.prediction.answered_rows import (
        RECORD_KEYS,
        added_columns,
        record_lines,
        refuse_taken,
        with_answers,
    )

    separator = _SEPARATORS[_kind(out)] if out is not None else "," if style == "plain" else None
    if separator == "," and like.separator != "\t":
        separator = like.separator
    added = RECORD_KEYS if separator is None else added_columns(labels)

    def check(frame: pl.DataFrame) -> None:
        refuse_taken(frame, added, source)
        _check_columns(frame, separator)

    if separator is None:
        with write_lines(style) if out is None else _lines_in_file(out) as write:

            def write_records(frame: pl.DataFrame, answers: Answers) -> None:
                check(frame)
                write(record_lines(frame, answers))

            yield write_records
        return
    with _csv_rows(out, separator, mark=like.mark, safe=safe) as write_rows:

        def write_answered(frame: pl.DataFrame, answers: Answers) -> None:
            check(frame)
            write_rows(with_answers(frame, answers))

        yield write_answered


@contextmanager
def write_columns(
    out: Path | None, *, added: list[str], source: str, like: Delimited, safe: bool
) -> Iterator[Callable[[pl.DataFrame, pl.DataFrame], None]]:
    """Yield a function that writes a frame with further columns beside it, as `write_answers` does.

    Args:
        added: the names of these columns.
        safe: see `write_answers`.
    """
    from glassformer.prediction.answered_rows import refuse_taken

    separator = _SEPARATORS[_kind(out)] if out is not None else ","
    if separator == "," and like.separator != "\t":
        separator = like.separator
    with _json_rows(out) if separator is None else _csv_rows(out, separator, mark=like.mark, safe=safe) as write_rows:

        def write(frame: pl.DataFrame, columns: pl.DataFrame) -> None:
            refuse_taken(frame, added, source)
            _check_columns(frame, separator)
            write_rows(frame.hstack(columns))

        yield write


@contextmanager
def _csv_rows(
    out: Path | None, separator: str, *, mark: bool, safe: bool = False
) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that writes rows as CSV, with a header before the first ones.

    Args:
        mark: write a byte order mark.
        safe: see `write_answers`.
    """
    with nullcontext() if out is None else _opened(out) as file:
        write_bytes = write_table if file is None else file.write
        header = True

        def write(rows: pl.DataFrame) -> None:
            nonlocal header
            rows = without_formulas(rows) if safe else rows
            write_bytes(
                rows.write_csv(include_header=header, include_bom=header and mark, separator=separator).encode()
            )
            header = False

        yield write


@contextmanager
def _json_rows(out: Path | None) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that writes rows as lines of JSON."""
    with write_lines("jsonl") if out is None else _lines_in_file(out) as write:
        yield lambda rows: write(rows.write_ndjson().rstrip("\n").split("\n")) if rows.height else None


@contextmanager
def write_lines(style: Style) -> Iterator[WriteLines]:
    """Yield a function that writes lines to standard output, or with `json`, as the entries of `{"answers": [...]}`.

    Lines are written at once. They are not kept in memory.
    """
    separator = '{"answers": [\n' if style == "json" else ""

    def write(lines: Iterable[str]) -> None:
        nonlocal separator
        for line in lines:
            if style == "plain":
                show(line)
            else:
                write_json(f"{separator}{line}" if style == "json" else f"{line}\n")
            separator = ",\n"
        sys.stdout.flush()

    yield write
    if style == "json":
        write_json("\n]}\n")


def text_lines(answers: Answers, texts: Sequence[str], top_k: int | None) -> Iterator[str]:
    """Yield a line per text: its label, the most likely labels, and the beginning of the text."""
    from glassformer.data.wording import label_text

    for row, (text, label) in enumerate(zip(texts, answers.predictions(), strict=True)):
        if label is None:
            cells = ["(no text)", ""]
        else:
            ranked = "  ".join(f"{name} {prob:.3f}" for name, prob in answers.ranked(row, top_k))
            cells = [label_text(label), ranked]
        beginning = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
        yield "\t".join(map(one_line, [*cells, beginning]))


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put a single quote before each cell and column name that a spreadsheet could run as a formula.

    This is the advice of OWASP ("CSV Injection"). A number such as -5 is not a formula.
    """
    import polars as pl

    text = pl.col(pl.String)
    formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    safe = frame.with_columns(pl.when(formula).then("'" + text).otherwise(text).name.keep())
    return safe.rename(lambda name: f"'{name}" if re.match(_FORMULA, name) else name)


@contextmanager
def _opened(out: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with written_aside(out) as aside, gzip.open(aside, "wb") if out.suffix == ".gz" else aside.open("wb") as file:
        yield file


@contextmanager
def _lines_in_file(out: Path) -> Iterator[WriteLines]:
    with _opened(out) as file:
        yield lambda lines: file.writelines(f"{line}\n".encode() for line in lines)


def _check_columns(frame: pl.DataFrame, separator: str | None) -> None:
    """Raise `UsageError` if a column of the table, for example from Parquet, cannot be written as text."""
    for name, dtype in frame.schema.items():
        if "Binary" in str(dtype) or (separator is not None and dtype.is_nested()):
            way_out = "leave it out" if "Binary" in str(dtype) else "leave it out, or write answers as .jsonl"
            raise UsageError(f"the column {name!r} holds {dtype}, which cannot be written in this format; {way_out}")


def _kind(out: Path) -> str:
    return out.with_suffix("").suffix if out.suffix == ".gz" else out.suffix
