"""Write a table anew with the labels that a person has filled in."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.files import written_aside
from glassformer.data.formats.all_formats import FORMATS, format_of
from glassformer.data.formats.archive import is_archive
from glassformer.data.formats.columnar import PARQUET, scanned
from glassformer.data.formats.compressions import is_compressed, opened
from glassformer.data.formats.format import Delimited
from glassformer.data.formats.json_lines import JSON_LINES
from glassformer.data.formats.workbook import WORKBOOK
from glassformer.data.inputs import shown
from glassformer.data.lines import lines_of
from glassformer.data.parts import file_of
from glassformer.data.rows import check_unchanged, iterate_rows, with_columns
from glassformer.data.several_labels import json_list
from glassformer.errors import UsageError, quoted
from glassformer.labels.findings import DROP, NEW_LABEL
from glassformer.labels.labelled import Labelled, as_list, typed
from glassformer.labels.refused_rows import RefusedRows
from glassformer.labels.truth import Truth
from glassformer.prediction.answer_files import XLSX, ending_like, kind_of, opened_to_write, table_file, write_lines_to

_NEEDED = ("row", "text", "label", NEW_LABEL)
_ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, kw_only=True)
class Mended:
    """How many rows a mended table has, and how many were given another label, left out or added."""

    rows: int
    relabelled: int
    dropped: int
    added: int


def read_changes(filled_in: Path, truth: Truth) -> dict[int, str | None]:
    """Return row → new label of a file of findings that a person has filled in; None leaves the row out.

    Raises:
        UsageError: the file cannot be read, belongs to another table or to an earlier version of it, or asks for labels
            that the table does not have, or for two of one row. The message names the rows of the file.
    """
    table = truth.table
    texts = map(shown, table.frame["text"])
    known = dict(zip(table.frame["row"], zip(texts, truth.cells, strict=True), strict=True))
    changes: dict[int, str | None] = {}
    asked_at: dict[int, int] = {}
    refused = RefusedRows()
    for number, line in enumerate(_lines_of(filled_in), 1):
        place = f"{filled_in}, row {number}"
        row = _checked_row(line, known, place, truth)
        if not (new := _tidy(line[NEW_LABEL])):
            continue
        with refused.row():
            label = truth.checked(new, place)
            if row in changes and changes[row] != label:
                raise UsageError(
                    f"{place} asks for {quoted(new)} as the new label of row {row} of {table.source}, and row "
                    f"{asked_at[row]} for another; decide for one"
                )
            changes[row], asked_at[row] = label, number
    refused.check()
    if not changes:
        raise UsageError(
            f"{filled_in}: the column {NEW_LABEL} is empty, so there is nothing to mend. Fill in labels, or {DROP} to "
            "leave out a row"
        )
    return {row: label for row, label in changes.items() if label != known[row][1]}


def _lines_of(filled_in: Path) -> Iterator[dict[str, str | None]]:
    for frame in iterate_rows(filled_in, rows_per_batch=_ROWS_AT_ONCE):
        if missing := [name for name in _NEEDED if name not in frame.columns]:
            raise UsageError(
                f"{filled_in} has no column {missing[0]!r}, so it is not a file that `glassformer labels` wrote. "
                f"Needed: {', '.join(_NEEDED)}, or the columns of a file of texts to label"
            )
        yield from frame.select(pl.col(*_NEEDED).cast(pl.String)).iter_rows(named=True)


def _checked_row(line: Mapping[str, str | None], known: Mapping[int, tuple[str, str]], place: str, truth: Truth) -> int:
    """Return the number of the row that a line is about. Raises `UsageError` if the table has another row there."""
    typed, source = _tidy(line["row"]), truth.table.source
    if not typed.isdecimal():
        raise UsageError(f"{place}: {quoted(typed)} is not the number of a row")
    row = int(typed) if len(typed) < 12 else -1
    if row not in known:
        raise UsageError(f"{place}: {source} has no usable row {typed}. Is it a file for another table?")
    text, label = known[row]
    if not _same_text(line["text"] or "", text):
        raise UsageError(
            f"{place}: row {row} of {source} has another text: {quoted(text)}. The table has changed, the file is for "
            "another table, or `text=` and `columns=` are not those of the check; run `glassformer labels` again"
        )
    if not truth.same(_tidy(line["label"]), label):
        raise UsageError(
            f"{place}: row {row} of {source} has the label {quoted(label)}, not {quoted(_tidy(line['label']))}. The "
            "table has changed; run `glassformer labels` again. New labels go in the column new_label"
        )
    return row


def _tidy(cell: str | None) -> str:
    """Return a label or number as the reader of tables gives it: stripped, without the ".0" of whole floats."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", (cell or "").strip())


def _same_text(one: str, other: str) -> bool:
    """Whether texts are equal but for white space, and for the quote that keeps spreadsheets from running formulas."""
    left, right = (" ".join(unicodedata.normalize("NFC", text).split()) for text in (one, other))
    return left == right or left == f"'{right}"


def default_out(source: Path) -> Path:
    """Return the name of the mended table: beside the table, of the same kind, or of the one that is written for it."""
    kind, path = format_of(source), file_of(source)
    plain = path.with_suffix("") if is_compressed(path) else path
    compressed = ".gz" if path.suffix == ".gz" else ""  # the other compressions are read and not written
    ending = ending_like(source) if kind == WORKBOOK else kind.written or plain.suffix
    return plain.with_name(f"{plain.stem}-mended{ending}{compressed}")


def mend(
    source: Path,
    out: Path,
    truth: Truth,
    changes: Mapping[int, str | None],
    labelled: Labelled | None = None,
    *,
    version: tuple[int, ...] | None = None,
) -> Mended:
    """Write the rows of a table to another file of the same kind, with new labels and without the rows to leave out.

    All other cells stay as they are. Rows that were labelled for the table come last. Where it has their
    texts without a label, they get one there.

    Args:
        changes: see `read_changes`.
        version: that of the file when `truth` began to be read from it. It must still be the same.

    Raises:
        UsageError: `out` is of another kind, the file has changed, or a label or cell does not fit its column.
    """
    if is_archive(file_of(source)):
        raise UsageError(f"{source}: unpack it first; a mended table is not written into a .zip")
    kind, as_workbook = format_of(source), ending_like(source) == XLSX
    kind = FORMATS[kind.written] if kind.written else kind
    if FORMATS.get(kind_of(out)) != kind and not (as_workbook and out.suffix == XLSX):
        written = f"{XLSX} or {kind.name}" if as_workbook else kind.name
        raise UsageError(f"`out={str(out)!r}`: the mended table of {source} is written as {written}")
    write = _mend_parquet if kind == PARQUET else _mend_json if kind == JSON_LINES else _mend_delimited
    edits = _Edits(truth, changes)
    with written_aside(out) as aside:
        rows = write(source, aside, out, edits, labelled)
        if version is not None:
            check_unchanged(file_of(source), version)
    dropped = sum(new is None for new in changes.values())
    added = 0 if labelled is None else labelled.rows.height
    return Mended(rows=rows + added, relabelled=len(changes) - dropped, dropped=dropped, added=added)


@dataclass(frozen=True)
class _Edits:
    """New labels by rows; None leaves a row out."""

    truth: Truth
    changes: Mapping[int, str | None]

    def of(self, frame: pl.DataFrame, begun: int) -> pl.DataFrame:
        """Return a part of a table with its changes.

        Args:
            begun: how many rows stand before this part.
        """
        numbers = range(begun + 1, begun + frame.height + 1)
        here = {number: self.changes[number] for number in numbers if number in self.changes}
        cells = {number - begun - 1: self.truth.table.cells_of(new) for number, new in here.items() if new is not None}
        for level, column in enumerate(self.truth.table.label_columns):
            values, dtype = frame[column].to_list(), frame.schema[column]
            for place, new in cells.items():
                values[place] = self.typed(new[level], values[place], dtype, column)
            frame = frame.with_columns(pl.Series(column, values, dtype=dtype))
        kept = [here.get(number, "") is not None for number in numbers]
        return frame.filter(pl.Series(kept, dtype=pl.Boolean))

    def typed(self, new: str | None, old: Any, dtype: pl.DataType, column: str) -> Any:
        """Return a new label as a value of the type of its column, written as the old one."""
        if new is None:
            return None
        if dtype == pl.List:
            return as_list(new, self.truth.separator)
        if dtype == pl.String:
            several = isinstance(old, str) and json_list(old) is not None
            return json.dumps(as_list(new, self.truth.separator), ensure_ascii=False) if several else new
        if (value := typed(pl.Series([new]), dtype)[0]) is None:
            raise UsageError(
                f"{quoted(new)} does not fit the column {quoted(column)}, which holds {dtype}; change it first"
            )
        return value

    def relabelled(self, line: str, new: str, kinds: Mapping[str, type | None]) -> str:
        """Return a row in JSON with a new label.

        Args:
            kinds: what the labels of each column are, for a row that has none.
        """
        record = json.loads(line)
        for column, cell in zip(self.truth.table.label_columns, self.truth.table.cells_of(new), strict=True):
            old = record.get(column)
            kind = kinds[column] if old is None else type(old)
            if kind is list:
                record[column] = as_list(cell or "", self.truth.separator)
            else:
                record[column] = self.typed(cell, old, pl.String(), column)
                if cell is not None and kind not in (str, None):
                    with suppress(ValueError):  # a column may hold numbers and words
                        record[column] = json.loads(cell)
        return json.dumps(record, ensure_ascii=False)


def _mend_parquet(source: Path, aside: Path, _: Path, edits: _Edits, labelled: Labelled | None) -> int:
    frame = edits.of(scanned(source).collect(), 0)
    whole = frame if labelled is None else pl.concat([frame, labelled.typed(frame.schema)])
    whole.write_parquet(aside)
    return frame.height


def _mend_delimited(source: Path, aside: Path, out: Path, edits: _Edits, labelled: Labelled | None) -> int:
    like = Delimited()

    def noted(found: Delimited) -> None:
        nonlocal like
        like = found

    begun = kept = 0
    write: Callable[[pl.DataFrame], None] | None = None
    with table_file(aside, out) as rows:
        for frame in iterate_rows(source, rows_per_batch=_ROWS_AT_ONCE, on_delimited=noted):
            write = write or rows(like)
            changed = edits.of(frame, begun)
            write(changed)
            begun, kept = begun + frame.height, kept + changed.height
        if write is not None and labelled is not None:
            write(with_columns(labelled.rows, frame.columns))
    return kept


def _mend_json(source: Path, aside: Path, out: Path, edits: _Edits, labelled: Labelled | None) -> int:
    """Only the lines with changes are written anew, so that numbers and lists in the others stay as they are."""
    kept = 0
    kinds: dict[str, type | None] = {}
    of_labels: dict[str, type | None] = {}  # what the first value of each column is
    for column in edits.truth.table.label_columns:
        values = (json.loads(line).get(column) for line in _json_lines(source))
        of_labels[column] = next((type(each) for each in values if each is not None), None)

    def lines() -> Iterator[str]:
        nonlocal kept
        for number, line in enumerate(_json_lines(source), 1):
            if labelled is not None:
                for key, value in json.loads(line).items():
                    kinds[key] = kinds.get(key) or (None if value is None else type(value))
            new = edits.changes.get(number)
            if number in edits.changes and new is None:
                continue
            kept += 1
            yield line if new is None else edits.relabelled(line, new, of_labels)
        if labelled is not None:
            yield from labelled.json_lines(kinds)

    with opened_to_write(aside, compressed=out.suffix == ".gz") as file:
        write_lines_to(file, lines())
    return kept


def _json_lines(source: Path) -> Iterator[str]:
    """Yield the lines that hold rows. The table has been read before, so they can be read."""
    with opened(source) as file:
        yield from (line for line in lines_of(file, str(source)) if line.strip())
