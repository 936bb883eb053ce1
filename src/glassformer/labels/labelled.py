"""Texts that a person labels for a table: the file that is written for them, and reading it back with its labels."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.addresses import local_path
from glassformer.data.column_kinds import is_opaque
from glassformer.data.columns import same_column
from glassformer.data.formats.all_formats import format_of
from glassformer.data.formats.delimited import CSV
from glassformer.data.formats.workbook import WORKBOOK
from glassformer.data.input_columns import compose_frame, composed
from glassformer.data.known import KNOWN, is_there
from glassformer.data.rows import ROWS_PER_BATCH, cells_of, iterate_rows
from glassformer.data.several_labels import joined_levels
from glassformer.data.shards import files_of
from glassformer.data.table import Dropped, Table, first_rows, read_table, row_list, tidy_values
from glassformer.data.wording import counted
from glassformer.errors import UsageError, quoted
from glassformer.labels.findings import DROP, NEW_LABEL
from glassformer.labels.refused_rows import RefusedRows
from glassformer.labels.truth import Truth
from glassformer.readers.counting.ngrams import words_of

OF_CHOICE = ("row", "suggested_label", "probability", "spread")
"""What may be said about a chosen text. These columns are no part of the table."""

_QUOTED_FORMULA = r"^'([=+\-@\t\r\n＝＋－＠])"


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Rows to add to a table.

    Attributes:
        rows: strings under the names of the table's columns. A column may be missing.
        numbers: the number of each row in its file.
        left_out: rows that are not added, and why.
        unquoted: how many rows lost the quote that keeps spreadsheets from running formulas.
        filled: the labels of rows that the table has without one, by their numbers.
        repeats: how many of these have the text of an earlier one of them.
        separator: between several labels of a cell. A column of lists gets lists.
    """

    rows: pl.DataFrame
    filled: dict[int, str]
    repeats: int
    numbers: list[int]
    source: str
    left_out: tuple[Dropped, ...]
    unquoted: int
    label: str
    separator: str

    def typed(self, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Return the rows with the columns and types of a Parquet table. Raises `UsageError` for an unfit cell."""
        return pl.DataFrame([self._typed(name, dtype) for name, dtype in schema.items()])

    def _typed(self, name: str, dtype: pl.DataType) -> pl.Series:
        if name == self.label and dtype == pl.List:
            return pl.Series(name, [as_list(cell, self.separator) for cell in self.rows[name]], dtype)
        if name not in self.rows.columns or is_opaque(dtype) or dtype == pl.Null:
            return pl.Series(name, [None] * self.rows.height, dtype)
        cells = self.rows[name].replace("", None)
        if dtype == pl.String:
            return cells
        cells = tidy_values(cells)
        values = typed(cells, dtype)
        if len(unfit := (values.is_null() & cells.is_not_null()).arg_true()):
            raise self._unfit(int(unfit[0]), name, str(dtype))
        return values

    def json_lines(self, kinds: Mapping[str, type | None]) -> Iterator[str]:
        """Yield the rows as JSON. Raises `UsageError` for an unfit cell.

        Args:
            kinds: the keys of the table, and what their values are.
        """
        for at, row in enumerate(self.rows.iter_rows(named=True)):
            record = {key: self._json_value(row.get(key), kind, at, key) for key, kind in kinds.items()}
            yield json.dumps(record, ensure_ascii=False)

    def _json_value(self, cell: str | None, kind: type | None, at: int, key: str) -> Any:
        if kind is list and key == self.label:
            return as_list(cell or "", self.separator)
        if not cell or kind in (str, None):
            return cell or None
        try:
            return json.loads(cell.lower() if kind is bool else cell)
        except ValueError:
            raise self._unfit(at, key, str(kind and kind.__name__)) from None

    def _unfit(self, at: int, column: str, kind: str) -> UsageError:
        cell = quoted(str(self.rows[column][at]))
        return UsageError(
            f"{self.source}, row {self.numbers[at]}: {cell} does not fit the column {quoted(column)}, which holds "
            f"{kind}; correct the cell or empty it"
        )


def as_list(cell: str, separator: str) -> list[str]:
    """Return several labels of a cell."""
    return cell.split(separator) if cell else []


_READ: Mapping[Any, Callable[[str], Any]] = {
    pl.Boolean: lambda cell: {"true": True, "false": False}.get(cell.lower()),
    pl.Datetime: datetime.fromisoformat,
    pl.Date: date.fromisoformat,
    pl.Time: time.fromisoformat,
}
"""How strings become values of a column of Parquet, where polars does not read them."""


def typed(cells: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return strings as values of a column of Parquet, null where a cell holds no such value."""
    if (read := _READ.get(dtype.base_type())) is None:
        return cells.cast(dtype, strict=False)

    def value(cell: str | None) -> Any:
        with suppress(ValueError):
            return None if cell is None else read(cell)

    return pl.Series(cells.name, list(map(value, cells)), dtype, strict=False)


def read_unlabelled(path: Path, table: Table) -> Table:
    """Read texts without labels from the columns of the table, if they have them; otherwise the column is found.

    Raises:
        UsageError: an input of the table is missing, or the texts cannot be read.
    """
    columns = first_rows(path).columns
    text, inputs = same_column(table.text_column, columns), table.inputs
    if inputs is None:
        return read_table(path, text=text, labelled=False)
    if missing := [name for name in inputs.names if same_column(name, columns) is None]:
        raise UsageError(f"{path} has no column {quoted(missing[0])}, which {table.source} is read with")
    pool = read_table(path, text=text, labelled=False, other_texts=inputs.texts[1:], beside=inputs.beside)
    return composed(pool, inputs)


def rows_to_label(path: Path, pool: Table, table: Table, chosen: pl.DataFrame) -> pl.DataFrame:
    """Return the chosen texts with empty columns of labels, and with the other columns that both tables have.

    Args:
        chosen: the columns of `OF_CHOICE` that are known of each text.

    Raises:
        UsageError: an input of the table has the name of another column of the file to write.
    """
    labels = table.label_columns
    inputs = [table.text_column, *(table.inputs.names[1:] if table.inputs else ())]
    if taken := [name for name in (*inputs, *labels) if name in OF_CHOICE]:
        raise UsageError(f"{table.source}: the file to label has its own column {taken[0]!r}; rename that of the table")
    first, own_path = first_rows(path), local_path(table.source)
    own = {name: same_column(name, first.columns) or name for name in inputs} | {table.text_column: pool.text_column}
    shared = {
        name: column
        for name in (() if table.source in KNOWN or not is_there(own_path) else first_rows(own_path).columns)
        if name not in (*own, *labels, NEW_LABEL, *OF_CHOICE)
        and (column := same_column(name, first.columns)) is not None
        and column not in own.values()
        and not is_opaque(first.schema[column])
    }
    cells = cells_of(files_of(path), chosen["row"], own | shared)
    return chosen.join(cells, on="row", how="left", maintain_order="left").select(
        "row", *own, *(pl.lit("").alias(label) for label in labels), *chosen.columns[1:], *shared
    )


def is_labelled(filled_in: Path, table: Table) -> bool:
    """Whether a file is one of texts to label, and not one of findings."""
    columns = next(iterate_rows(filled_in, rows_per_batch=1)).columns
    findings = NEW_LABEL in columns and table.label_column != NEW_LABEL
    return not findings and {*table.label_columns, *OF_CHOICE[:2]} <= set(columns)


def read_labelled(filled_in: Path, truth: Truth) -> Labelled:
    """Read the texts that a person has labelled.

    Rows without a label or text are left out, as are those marked with `DROP`, and texts that the table already has.
    Texts are the same if their words are. Those that the table has without a label are not added: they get theirs.

    Raises:
        UsageError: a column is missing; a label is none of the table; a text has two labels; or no row is left.
    """
    table = truth.table
    rows, unquoted = _read(filled_in, table)
    cells = joined_levels([tidy_values(rows[column]) for column in table.label_columns], str(table.levels))
    texts = rows[table.text_column].fill_null("") if table.inputs is None else compose_frame(rows, table.inputs)
    known, lacking = set(map(_key, table.frame["text"])), defaultdict[str, list[int]](list)
    for row, text in [] if table.unlabelled is None else table.unlabelled.select("row", "text").iter_rows():
        lacking[_key(text)].append(row)
    taken: dict[int, str] = {}
    first: dict[str, int] = {}
    left_out: dict[str, list[int]] = {}
    refused = RefusedRows()
    for number, (text, cell) in enumerate(zip(texts, cells, strict=True), 1):
        place, key, new = f"{filled_in}, row {number}", _key(text), cell
        with refused.row():
            new = cell and truth.checked(cell, place, new_class=True)
            if new is not None and key in first and taken[first[key]] != new:
                raise UsageError(f"{place} has the text of row {first[key]} and another label; decide for one")
        why = (
            "without a label" if cell is None else
            f"with {quoted(DROP)} as the label" if new is None else
            "without a text" if not text.strip() else
            f"whose text {table.source} already has" if key in known else
            "with the text of an earlier row" if key in first else None
        )  # fmt: skip
        if why is None and new is not None:
            taken[number], first[key] = new, number
        else:
            left_out.setdefault(str(why), []).append(number)
    refused.check()
    dropped = tuple(Dropped(reason=why, rows=numbers) for why, numbers in left_out.items())
    if not taken:
        raise UsageError(f"{filled_in}: nothing to add; {'; '.join(map(in_words, dropped))}")
    filled = {row: taken[number] for key, number in first.items() for row in lacking.get(key, ())}
    new_rows = {number: taken[number] for key, number in first.items() if key not in lacking}
    new_cells = list(map(table.cells_of, new_rows.values()))
    added = rows[[number - 1 for number in new_rows]].with_columns(
        pl.Series(column, [each[level] for each in new_cells], pl.String)
        for level, column in enumerate(table.label_columns)
    )
    return Labelled(
        rows=added,
        filled=filled,
        repeats=len(filled) - len(taken) + len(new_rows),
        numbers=list(new_rows),
        source=str(filled_in),
        left_out=dropped,
        unquoted=unquoted,
        label=table.label_columns[0],
        separator=truth.separator,
    )


def _key(text: str) -> str:
    return " ".join(words_of(text))


def _read(filled_in: Path, table: Table) -> tuple[pl.DataFrame, int]:
    """Read the columns of a file that the table may have, as strings, and say how many quotes were taken away."""
    rows = pl.concat(list(iterate_rows(filled_in, rows_per_batch=ROWS_PER_BATCH)))
    inputs = [table.text_column] if table.inputs is None else table.inputs.names
    if missing := [name for name in inputs if name not in rows.columns]:
        raise UsageError(f"{filled_in} has no column {quoted(missing[0])}, which {table.source} is read with")
    rows = rows.drop(name for name in OF_CHOICE if name in rows.columns).cast(pl.String)
    if format_of(filled_in) not in (CSV, WORKBOOK):
        return rows, 0
    formula = rows.select(pl.any_horizontal(pl.all().str.contains(_QUOTED_FORMULA))).to_series()
    return rows.with_columns(pl.all().str.replace(_QUOTED_FORMULA, "$1")), int(formula.sum())


def in_words(dropped: Dropped) -> str:
    """Say which rows were left out: "2 rows without a label left out (rows 3 and 4)"."""
    return f"{counted(len(dropped.rows), 'row')} {dropped.reason} left out ({row_list(dropped.rows)})"
