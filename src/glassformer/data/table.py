"""A table of labelled text: the rows in use, and the rows that were left out and why."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np
import polars as pl

from glassformer.data.alike import shared_values
from glassformer.data.arrays import blocks, gathered
from glassformer.data.class_folders import is_class_folder
from glassformer.data.column_kinds import is_named_as_id, is_opaque, kind_of
from glassformer.data.columns import HOW_TO_LABEL, Columns, Wanted, columns_of_split, find_columns
from glassformer.data.formats.delimited import COUNTED
from glassformer.data.inputs import BLANK, MARK, Inputs
from glassformer.data.json_files import parsed
from glassformer.data.mapped import filtered, mapped
from glassformer.data.rows import ROWS_PER_BATCH, batches_of, with_columns
from glassformer.data.several_labels import (
    SEVERAL,
    check_levels,
    joined_levels,
    json_list,
    refuse_lists,
    said_of_several,
    split_labels,
)
from glassformer.data.shards import files_of
from glassformer.data.wording import counted, in_a_row
from glassformer.errors import UsageError, brief, quoted

FEW_VALUES = 30  # of a column by whose values rows can be compared
MOST_OTHERS = 100
_KEYS_AT_ONCE = 200_000
NO_LABEL = "no label"
"""Why a row is left out of `Table.frame` that `Table.unlabelled` holds."""


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """Rows that were left out, and why. Row 1 is the first row of data: the header does not count."""

    reason: str
    rows: list[int]


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows in use, in the order of the file.

    `frame` has the columns `row` (UInt32, the number of the data row in the source, from 1) and `text` (String);
    `label` (String, or List(String) with `multilabel`) unless the table is unlabelled; `group` and `time` (String) if
    they were requested (see `with_dates`); from Python also `weight` (Float64), the weight of each row in training.
    `source` is the name or path that the user gave. `order` are the labels from lowest to highest, if the task is to
    learn their order. `levels` separates the levels of a label, such as ` > `, if it has some; `lower` are the columns
    of those below the first. `notes` are sentences about what was detected. `like_labels` are other columns that look
    like labels, if the label column holds decimal numbers. `inputs` says how the texts were composed, if a row has
    several inputs. Before that, the frame holds the other inputs as strings, under their `kept_name`. `unlabelled` are
    the rows with a text and without a label, if there are some: they have the columns of `frame`. With `multilabel`
    there are none. `dated` is a column of dates that nobody asked for, if there is one, and `shared` a sentence about a
    column that looks like groups (see `shared_values`).
    """

    frame: pl.DataFrame
    source: str
    text_column: str
    label_column: str | None
    multilabel: bool = False
    order: tuple[str, ...] | None = None
    levels: str | None = None
    lower: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    like_labels: tuple[str, ...] = ()
    inputs: Inputs | None = None
    unlabelled: pl.DataFrame | None = None
    dated: str | None = None
    shared: str | None = None

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of the label: one, or one for each of its levels, the highest first."""
        return (self.label_column or "label", *self.lower)

    def cells_of(self, label: str) -> list[str | None]:
        """Return the cells of a label in `label_columns`."""
        parts = label.split(self.levels or "") if self.lower else [label]
        return [*parts, *[None] * (len(self.label_columns) - len(parts))]

    def place(self, column: str | None) -> str:
        """Name a column for a message, and say how rows are counted if not simply from below the header."""
        shifts = next((f" ({note.removeprefix(COUNTED)})" for note in self.notes if note.startswith(COUNTED)), "")
        return f"{self.source}, column {quoted(column)}{shifts}"

    @property
    def label_keys(self) -> pl.Series:
        """The label of each row as one string. Several labels are sorted and joined. Empty if the table has none."""
        if "label" not in self.frame.columns:
            return pl.repeat("", self.frame.height, dtype=pl.String, eager=True)
        labels = self.frame["label"]
        return labels.list.sort().list.join("\0") if self.multilabel else labels

    @property
    def without_label(self) -> str | None:
        """How many rows have no label, in words. None if all have one."""
        if self.unlabelled is None:
            return None
        rows = counted(self.frame.height + self.unlabelled.height, "row")
        return f"{self.unlabelled.height:,} of {rows} {'has' if self.unlabelled.height == 1 else 'have'} no label"

    def leaving_out(self, rows: pl.Series, reason: str) -> "Table":
        """Return the table without the rows where this mask is True. They are listed in `dropped`."""
        if not rows.any():
            return self
        dropped = Dropped(reason=reason, rows=self.frame.filter(rows)["row"].to_list())
        return replace(self, frame=filtered(self.frame, ~rows), dropped=(*self.dropped, dropped))

    def without(self, texts: pl.Series, reason: str) -> "Table":
        """Leave out the rows whose text is one of these."""
        known = text_keys(texts).unique().implode()
        return self.leaving_out(pl.concat(keys.is_in(known) for keys in _keys_of_parts(self.frame["text"])), reason)


def kept_name(column: str) -> str:
    """Return the name of another input in the frame of a table, until the rows are composed."""
    return f"input {column}"


def first_rows(path: Path) -> pl.DataFrame:
    """Return the first rows of a file or of a folder of files, with all columns."""
    return next(batches_of(files_of(path), rows_per_batch=ROWS_PER_BATCH))


def read_table(path: Path, *, labelled: bool = True, **wanted: Unpack[Wanted]) -> Table:
    """Read a file of any format (see `all_formats`), or a folder or archive of such files as one table.

    Labels of any type become strings; a whole number written as a float ("1.0") becomes "1". With several labels in one
    cell, a JSON list or a Parquet list is read too, and an empty cell means no label at all. Rows with an empty text,
    or without a label, are left out and listed in `dropped`; the latter are kept in `unlabelled`. Other inputs are
    kept (see `kept_name`). Raises `UsageError` if something cannot be read. The message says where, and what to do.
    """
    source = str(path)
    found: list[str] = []
    files = files_of(path, found.append)
    batches = batches_of(files, rows_per_batch=ROWS_PER_BATCH, on_note=found.append)
    first = next(batches)
    columns = find_columns(first, source, labelled=labelled, **wanted)
    of_split = {name: column for name, column in columns_of_split(wanted).items() if column is not None}
    multilabel, other_texts = wanted.get("multilabel"), wanted.get("other_texts", ())
    separator = multilabel if labelled else None
    every = mapped(_numbered(itertools.chain([first], batches), columns, wanted, source, separator=separator))
    if labelled and multilabel is None:
        refuse_lists(every["label"], f"{source}, column {columns.label!r}")
    frame, without_label, dropped = _usable(every, ["text", *map(kept_name, other_texts)], labelled=labelled)
    if frame.is_empty():
        is_unlabelled = without_label is not None and not wanted.get("number")
        raise UsageError(f"{source}{_why_empty(columns, dropped, is_unlabelled)}", [f"  {note}" for note in found])
    at_random = "time" in wanted and "time" not in of_split
    in_use = (columns.text, columns.label, *columns.kept.values(), *wanted.get("lower", ()))
    free = [name for name in first.columns if name not in in_use][:MOST_OTHERS] if at_random else []
    by_row = at_random and "group" not in of_split and columns.label is not None
    if not wanted.get("some_grouped"):
        _check_filled(frame, of_split, source)
    notes = [*found, *columns.notes, *_objects(frame, columns.text, columns.label)]
    if separator is not None:
        notes += said_of_several(frame["label"], columns.label, separator)
    if files != [path]:
        counted_on = ", in the order of their names; rows are counted through all of them" if len(files) > 1 else ""
        kind = "folder" if is_class_folder(files[0]) else "file"
        notes.insert(0, f"{counted(len(files), kind)}{counted_on}")
    return Table(
        frame=frame,
        source=source,
        text_column=columns.text,
        label_column=columns.label,
        levels=wanted.get("levels"),
        lower=tuple(wanted.get("lower", ())),
        multilabel=labelled and multilabel is not None,
        dropped=dropped,
        notes=tuple(notes),
        like_labels=columns.like_labels,
        unlabelled=without_label,
        dated=_dated(first, free),
        shared=shared_values(first, free, every["label"].head(first.height), whole=every.height == first.height)
        if by_row
        else None,
    )


def other_columns(path: Path, table: Table) -> pl.DataFrame:
    """Read the columns beside text and label that have few values or numbers, for the rows in use.

    They are chosen by the first rows of the file: at most `MOST_OTHERS` columns, no ids, no lists. The values are
    strings, stripped; empty ones are null.

    Raises:
        UsageError: the file changed meanwhile, or cannot be read.
    """
    batches = batches_of(files_of(path), rows_per_batch=ROWS_PER_BATCH)
    first = next(batches)
    read = (table.text_column, table.label_column, *table.lower, *(table.inputs.texts if table.inputs else ()))
    free = [name for name in first.columns if name not in read]
    fitting = (name for name in free if _has_few_values_or_numbers(first[name]))  # a millisecond for each
    chosen = list(itertools.islice(fitting, MOST_OTHERS))
    if not chosen:
        return pl.DataFrame()
    frames = [
        pl.DataFrame([tidy_values(values) for values in with_columns(batch, chosen).iter_columns()])
        for batch in itertools.chain([first], batches)
    ]
    frame, rows = pl.concat(frames), table.frame["row"] - 1
    if int(rows[-1]) >= len(frame):
        raise UsageError(f"{path} changed while it was read; run the command again.")
    return frame[rows]


def text_keys(texts: pl.Series) -> pl.Series:
    """Return a key for each text: its Unicode NFC form, stripped. Texts are equal if their keys are equal.

    Of rows with several inputs, all texts count, and the columns beside them do not.
    """
    return texts.str.replace_all(MARK, "").str.normalize("NFC").str.strip_chars()


def _keys_of_parts(texts: pl.Series) -> Iterator[pl.Series]:
    """Yield the `text_keys` of some thousand texts at a time: those of all would be a copy of the table."""
    for first in range(0, max(1, len(texts)), _KEYS_AT_ONCE):
        yield text_keys(texts[first : first + _KEYS_AT_ONCE])


def perhaps_repeated(texts: pl.Series) -> pl.Series:
    """Return a mask that is True for each text that equals another by `text_keys`, and seldom for others."""
    hashes = gathered(keys.hash().to_numpy() for keys in _keys_of_parts(texts))
    in_order = gathered(blocks(hashes))
    in_order.sort()
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    ended = np.append(twice, np.uint64(0))  # of a hash that is greater than all
    return pl.Series(np.concatenate([ended[np.searchsorted(twice, block)] == block for block in blocks(hashes)]))


def row_keys(texts: pl.Series) -> pl.Series:
    """Return a key for each row. Of several inputs, the columns beside the texts count too (see `text_keys`)."""
    return texts.str.extract_all(MARK).list.join("") + text_keys(texts)


def row_list(rows: list[int], *, most: int = 5) -> str:
    """Return row numbers for a message: "row 3", "rows 3, 5 and 9", "rows 1, 2, 3, 4, 5 and 12 more"."""
    return f"{'row' if len(rows) == 1 else 'rows'} {in_a_row([*map(str, rows)], most)}"


def _check_filled(frame: pl.DataFrame, of_split: Mapping[str, str], source: str) -> None:
    """Raise `UsageError` if a column that decides which rows are held out lacks a value."""
    for name, column in of_split.items():
        if frame[name].has_nulls():
            rows = frame.filter(pl.col(name).is_null())["row"].to_list()
            raise UsageError(
                f"{source}: {row_list(rows)} {'has' if len(rows) == 1 else 'have'} no value in the {name} column "
                f"{quoted(column)}. Fill it in, or remove these rows."
            )


def _why_empty(columns: Columns, dropped: Sequence[Dropped], is_unlabelled: bool) -> str:
    """Return what is wrong with a table without a usable row, and what to do."""
    if is_unlabelled:
        return (
            f": no row has a label in the column {quoted(columns.label)}. Name another with `label=`; or {HOW_TO_LABEL}"
        )
    reasons = ", ".join(f"{len(drop.rows):,} × {drop.reason}" for drop in dropped)
    label = f" and `label={columns.label!r}`" if columns.label is not None else ""
    return f" has no usable row ({reasons}). Check the columns `text={columns.text!r}`{label}."


def _numbered(
    batches: Iterable[pl.DataFrame], columns: Columns, wanted: Wanted, source: str, *, separator: str | None
) -> Iterator[pl.DataFrame]:
    """Yield the rows of the frame of a table."""
    row = 1
    for batch in batches:
        kept = _kept(batch, columns.kept, wanted.get("other_texts", ()))
        yield _in_use(batch, columns, wanted, source, separator=separator).hstack(kept).with_row_index("row", row)
        row += batch.height


def _in_use(
    batch: pl.DataFrame, columns: Columns, wanted: Wanted, source: str, *, separator: str | None
) -> pl.DataFrame:
    """Return the columns in use as strings, named `text`, `label`, `group` and `time`."""
    named = {"text": columns.text, "label": columns.label, **columns_of_split(wanted)}
    present, lower = {name: column for name, column in named.items() if column is not None}, wanted.get("lower", ())
    batch = with_columns(batch, list(dict.fromkeys([*present.values(), *lower])))
    in_use = {}
    for name, column in present.items():
        if name == "text":
            in_use[name] = batch[column].cast(pl.String)
        elif name == "label" and separator is not None:
            in_use[name] = split_labels(batch[column], separator)
        elif name == "label" and lower:
            in_use[name] = paths_in(batch, (column, *lower), str(wanted.get("levels")), source)
        elif name == "group":  # a name typed on a Mac is the same customer
            in_use[name] = tidy_values(batch[column]).str.normalize("NFC")
        else:
            in_use[name] = tidy_values(batch[column])
    return pl.DataFrame(in_use)


def paths_in(batch: pl.DataFrame, columns: Sequence[str], separator: str, source: str) -> pl.Series:
    """Return labels whose levels stand in several columns, as paths. Raises what `check_levels` raises."""
    levels = [tidy_values(batch[column]) for column in columns]
    check_levels(levels, separator, source)
    return joined_levels(levels, separator)


def _kept(batch: pl.DataFrame, columns: Mapping[str, str], texts: Sequence[str]) -> pl.DataFrame:
    """Return other inputs as strings, under their `kept_name`."""
    batch = with_columns(batch, list(columns.values()))
    kept = {}
    for name, column in columns.items():
        if is_opaque(dtype := batch.schema[column]):
            raise UsageError(f"The column {column!r} holds {dtype}; a text, a number or a category is needed.")
        kept[kept_name(name)] = batch[column].cast(pl.String) if name in texts else tidy_values(batch[column])
    return pl.DataFrame(kept)


def _has_few_values_or_numbers(values: pl.Series) -> bool:
    if is_named_as_id(values.name):
        return False
    kind = kind_of(values)
    if kind in ("empty", "lists or records"):
        return False
    return kind in ("whole numbers", "decimal numbers") or values.n_unique() <= FEW_VALUES


def _dated(sample: pl.DataFrame, free: Sequence[str]) -> str | None:
    """Return the first free column with different dates, not times of day alone."""
    return next(
        (
            name
            for name in free
            if kind_of(sample[name]) == "dates"
            and sample[name].drop_nulls().n_unique() > 1
            and not sample[name].cast(pl.String).str.contains(r"^\s*\d{1,2}:").any()
        ),
        None,
    )


def tidy_values(values: pl.Series) -> pl.Series:
    """Return stripped strings, without the ".0" of whole floats. Empty values become null."""
    if values.dtype == pl.List:
        raise UsageError(f"The column {values.name!r} holds lists. {SEVERAL}")
    if is_opaque(values.dtype):
        raise UsageError(f"The column {values.name!r} holds {values.dtype}; text, numbers or truth values are needed.")
    if values.dtype.is_float():
        values = values.fill_nan(None)
    return values.cast(pl.String).str.strip_chars().str.replace(r"^(-?\d+)\.0+$", "$1").replace("", None)


def _objects(frame: pl.DataFrame, text: str, label: str | None) -> list[str]:
    """Return what to say of columns whose cells are objects of JSON, or of texts that are lists."""
    said = []
    for kind, column in (("text", text), ("label", label)):
        cells = frame[kind] if column is not None and frame[kind].dtype == pl.String else pl.Series([""])
        found = cells.filter(cells.str.contains(r"^\s*[\[{]"))
        first = found[0] if 2 * len(found) > len(cells) else ""
        if json_list(first):
            said.append(f"the column {quoted(column)} holds lists such as {brief(first)}; they are read as plain text")
        within = parsed(first)
        if isinstance(within, dict) and within:
            key = next((key for key, value in within.items() if isinstance(value, str)), next(iter(within)))
            said.append(
                f"the column {quoted(column)} holds JSON objects such as {brief(first)}; they are read as plain text. "
                f"To learn from {quoted(key)} alone, make it a column of its own"
            )
    return said


def _usable(
    frame: pl.DataFrame, texts: list[str], *, labelled: bool
) -> tuple[pl.DataFrame, pl.DataFrame | None, tuple[Dropped, ...]]:
    """Return the rows in use, those that lack nothing but a label, and why the others are left out."""
    filled = [~pl.col(name).fill_null("").str.contains(BLANK) for name in texts]
    has_text = frame.select(pl.any_horizontal(filled)).to_series()
    lacks_label = has_text & (frame["label"].is_null() if labelled else False)
    reasons = {"empty text": ~has_text, NO_LABEL: lacks_label}
    dropped = [
        Dropped(reason=reason, rows=frame.filter(mask)["row"].to_list())
        for reason, mask in reasons.items()
        if mask.any()
    ]
    without_label = frame.filter(lacks_label) if lacks_label.any() else None
    return filtered(frame, has_text & ~lacks_label) if dropped else frame, without_label, tuple(dropped)
