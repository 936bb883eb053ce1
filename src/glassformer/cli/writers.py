"""Write answers to standard output, or to a file: completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from glassformer.cli.output import one_line, show, write_json, write_table
from glassformer.data.files import check_link, is_empty, written_aside
from glassformer.data.installed import is_installed, pip_install
from glassformer.data.json_files import read_json
from glassformer.errors import GlassformerError, UsageError

if TYPE_CHECKING:
    from glassformer.data.formats.format import Delimited
    from glassformer.prediction.answer_files import WriteAnswers
    from glassformer.targets.answers import Answers

WriteLines = Callable[[Iterable[str]], None]
Style = Literal["plain", "json", "jsonl"]

LONGEST_SHOWN = 200
"""The characters of a text that are shown beside its answer. JSON holds the whole text."""


def check_out(out: Path, table: Path | None, *, overwrite: bool) -> None:
    """Raise `UsageError` if a table cannot be written to this path, or if a file there must not be replaced."""
    from glassformer.prediction.answer_files import SEPARATORS, XLSX, kind_of

    if out.suffix == XLSX and not is_installed("xlsxwriter"):
        raise UsageError(f"--out {out}: workbooks need an extra: {pip_install('excel')}; or write answers as .csv")
    if out.suffix != XLSX and kind_of(out) not in SEPARATORS:
        raise UsageError(f"--out {out}: write answers as {XLSX}, {', '.join(SEPARATORS)} (these four also with .gz)")
    if table is not None and out.is_file() and table.exists() and out.samefile(table):
        raise UsageError(f"--out {out} is the table that is read; name another file")
    check_new("--out", out, overwrite=overwrite)


def check_new(flag: str, path: Path | None, *, overwrite: bool) -> None:
    """Raise `UsageError` if a file cannot be written to this path, or if a file there must not be replaced.

    Args:
        flag: the option that names the file. Nothing is checked if it was not given.
    """
    if path is None:
        return
    check_link(path)
    if path.is_dir():
        raise UsageError(f"{flag} {path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise UsageError(f"{flag} {path} is a pipe or a device, which a file would replace; name a file")
    if not path.parent.is_dir():
        raise UsageError(f"{flag} {path}: there is no folder {path.parent}")
    _check_writable(flag, path, path.parent)
    if path.exists() and not overwrite:
        raise UsageError(f"{path} is already there; choose another {flag}, or --overwrite to replace it")


def check_folder(out: Path, *, ours: str | None = None) -> None:
    """Raise `UsageError` if a folder cannot be written to this path.

    Args:
        ours: the name of a file that our command writes. A folder that holds other files but not this one is refused.
    """
    check_link(out)
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; name a folder")
    _check_writable("--out", out, out)
    if ours is not None and out.is_dir() and not is_empty(out) and not (out / ours).is_file():
        raise UsageError(f"{out} is a folder with other files in it; choose an --out that is new or empty")


def _check_writable(flag: str, path: Path, folder: Path) -> None:
    """Raise `UsageError` if nothing can be written in a folder, or it cannot be made: it is said before the work."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not os.access(there, os.W_OK):
        raise UsageError(f"{flag} {path}: nothing can be written there; name another folder")


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


def check_earlier(out: Path, name: str, *, overwrite: bool) -> None:
    """Raise `UsageError` if a folder that the user named holds our file of this name, and it must not be replaced."""
    if (out / name).is_file() and not overwrite:
        raise UsageError(f"{out} holds an earlier report; choose another --out, or --overwrite to replace it")


@contextmanager
def about_model(model: Path, *beside: Path) -> Iterator[None]:
    """Meanwhile a model is read, and files about it are written. Those beside it go if another model has replaced it.

    Raises:
        GlassformerError: another model has replaced it.
    """
    from glassformer.data.checksums import version_in

    before, error = version_in(model), None
    try:
        yield
    except (OSError, GlassformerError) as raised:
        error = raised
    if (beside or error) and version_in(model) != before:
        for path in beside:
            path.unlink(missing_ok=True)
        raise GlassformerError(f"{model} was replaced or changed meanwhile; run the command again") from error
    if error is not None:
        raise error


@contextmanager
def write_answers(
    out: Path | None, style: Style, *, table: Path, like: Delimited, safe: bool | None
) -> Iterator[WriteAnswers]:
    """Yield a function that writes a frame with its answers, to standard output or to a file.

    The file is written under another name and renamed at the end. `answer_file` explains the other arguments.

    Args:
        style: the format of standard output. The format of a file depends on its ending.
        safe: None means that files are safe, which a person may open in a spreadsheet, and standard output is not.
    """
    from glassformer.prediction.answer_files import answer_file, csv_answers, csv_rows, json_answers

    if out is not None:
        with (
            written_aside(out) as aside,
            answer_file(aside, name=out, table=table, like=like, safe=safe is not False) as write,
        ):
            yield write
    elif style == "plain":
        write_rows = csv_rows(write_table, like.as_csv, safe=bool(safe))
        yield csv_answers(write_rows, like.as_csv.separator, source=str(table))
    else:
        with write_lines(style) as write_records:
            yield json_answers(write_records, like, source=str(table))


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
    """Yield a line per text: its answer, and how the text begins."""
    for row, text in enumerate(texts):
        beginning = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
        yield "\t".join(map(one_line, [*answers.cells(row, top_k), beginning]))
