"""What is read of a table (a file or folder): its columns, the kind of its labels, its texts; and a copy of it."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.columns import Wanted, find_columns
from glassformer.data.files import folder_written_aside, written_aside
from glassformer.data.formats.format import is_hidden
from glassformer.data.sources import SourceConfig, Task
from glassformer.data.table import paths_in
from glassformer.data.wording import counted
from glassformer.desk.found import described
from glassformer.desk.inputs_read import InputsRead
from glassformer.desk.labelling import labelling_of
from glassformer.errors import UsageError, quoted
from glassformer.targets.tasks import find_task

_NO_LABELS = (
    "no column of labels is read: every label is yours to give. If a column holds labels already, choose it below: "
    "after the first label, the columns stay"
)
_LEVELS = "labels have levels, with {!r} in between: each is a path, measured at each level"


def columns_of(
    first: pl.DataFrame, name: str, wanted: Wanted, *, without_labels: bool
) -> tuple[str, str | None, list[str]]:
    """Return the columns of the texts and the labels, and sentences that say how they were found."""
    for number in () if without_labels else (None, True):  # a number is taken only by its name: it may be a price
        try:
            asked: Wanted = {**wanted, "number": True} if number else wanted
            columns = find_columns(first, name, labelled=True, **asked)
        except UsageError:
            if wanted["label"] is not None:
                raise
        else:
            if not number or f"number column: {quoted(columns.label)} (by its name)" in columns.notes:
                return columns.text, columns.label, list(columns.notes)
    asked = {**wanted, "label": None}
    columns = find_columns(first, name, labelled=False, **asked)
    return columns.text, None, [*columns.notes, _NO_LABELS]


def kind_of(table: str, facts: Mapping[str, Any], task: Task | None, levels: str | None) -> dict[str, Any]:
    if facts["label"] is None:
        if facts["lower"]:
            raise UsageError("`lower=` names lower levels, and `label=` none; name there the column of the highest")
        return {"task": task, "levels": levels}
    source = SourceConfig(train=table, text=facts["text"], label=facts["label"], task=task, levels=levels)
    source = find_task(source, by_content=True).source
    return {"task": source.task, "separator": source.multilabel, "levels": source.levels}


def texts_of(batches: Iterator[pl.DataFrame], facts: Mapping[str, Any]) -> tuple[pl.DataFrame, list[str]]:
    """Return the texts of a table (the columns id, from 1 on, text, beside and label), and sentences about them.

    Raises:
        UsageError: no row has a text, or a cell holds no labels.
    """
    texts, said = pl.concat(_rows(batches, facts)), list[str]()
    rows = texts.height
    texts = texts.filter(~pl.col("blank"))
    if texts.is_empty():
        raise UsageError(f"{facts['table']}: the column {quoted(facts['text'])} holds no text; choose another column")
    if facts["label"] is not None and facts.get("levels"):
        said.append(_LEVELS.format(facts["levels"]))
    if empty := rows - texts.height:
        said.append(f"{counted(empty, 'row has', 'rows have')} no text and {'is' if empty == 1 else 'are'} left out")
    words = texts.with_columns(text=pl.Series(InputsRead.of(facts).words(texts)))
    return texts, said + described(words, labelling_of(facts))


def _rows(batches: Iterator[pl.DataFrame], facts: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Yield the texts with their row numbers and labels."""
    begun, label, lower = 1, facts["label"], facts.get("lower", ())
    inputs, labelling = InputsRead.of(facts), labelling_of(facts)
    for batch in batches:
        if label is None:
            labels = pl.Series([None] * batch.height, dtype=pl.String)
        else:
            levels = paths_in(batch, (label, *lower), facts["levels"], facts["table"]) if lower else batch[label]
            labels = labelling.from_table(levels)
        ids = pl.Series("id", range(begun, begun + batch.height), dtype=pl.Int64)
        yield inputs.kept(batch).with_columns(ids, labels.alias("label"))
        begun += batch.height


@contextmanager
def copied(table: Path, copy: Path) -> Iterator[Path]:
    """Copy a table, and give the copy. It is in its place after the `with` block, unless that raises."""
    if table.is_dir():
        with folder_written_aside(copy) as aside:
            shutil.copytree(
                table,
                aside,
                dirs_exist_ok=True,
                ignore=lambda _, names: [name for name in names if is_hidden(Path(name))],
            )
            yield aside
    else:
        with written_aside(copy) as aside:
            shutil.copyfile(table, aside)
            yield aside


def is_copy(table: Path, copy: Path) -> bool:
    """Whether a copy holds what the table holds now."""
    files, copies = _files_in(table), _files_in(copy)
    return files == copies and all(filecmp.cmp(table / each, copy / each, shallow=False) for each in files)


def _files_in(table: Path) -> list[Path]:
    if not table.is_dir():
        return [Path()]
    folders = os.walk(table, followlinks=True)  # as the copy does
    names = (Path(folder, name).relative_to(table) for folder, _, inside in folders for name in inside)
    return sorted(name for name in names if not any(is_hidden(Path(part)) for part in name.parts))
