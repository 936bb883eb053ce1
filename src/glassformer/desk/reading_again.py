"""Read the table of a project again: rows may have come to the file since, and others may be gone."""

from __future__ import annotations

import itertools
from pathlib import Path

from glassformer.data.columns import Wanted
from glassformer.data.encodings import named_encoding
from glassformer.data.parts import split_part, with_part
from glassformer.data.rows import ROWS_PER_BATCH, batches_of
from glassformer.data.shards import files_of
from glassformer.data.wording import counted
from glassformer.desk.filling import Changes, fill_again
from glassformer.desk.project import Project
from glassformer.desk.table_read import columns_of, copied, is_copy, texts_of
from glassformer.errors import UsageError


def read_again(project: Project, address: Path, name: str) -> str | None:
    """Bring the project to what the file of its table holds now, with the same columns.

    Args:
        address: of the file. The part of it that is read stays, if it names none.
        name: what the user calls the table.

    Returns:
        What has changed, in words. None if the file has not.

    Raises:
        UsageError: it cannot be read, or lacks a column. Then nothing is changed.
    """
    assert project.table is not None
    facts, (copy, kept), (file, asked) = project.store.facts, split_part(project.table), split_part(address)
    if is_copy(file, copy):
        return None
    part = asked or kept
    address = with_part(file, part) if part else file
    if "text" not in facts:  # its columns are not chosen yet
        project.take(address)
        return f"{name} has changed, and is read anew"
    wanted: Wanted = {
        "text": facts["text"], "label": facts["label"], "lower": facts.get("lower", ()),
        "other_texts": facts.get("other_texts", ()), "beside": facts.get("columns", ()),
    }  # fmt: skip
    notes: list[str] = []
    files = files_of(address, notes.append)
    with project.reading(), copied(file, copy) as aside:
        batches = batches_of(files, rows_per_batch=ROWS_PER_BATCH, on_note=notes.append)
        first = next(batches)
        _, _, of_columns = columns_of(first, name, wanted, without_labels=facts["label"] is None)
        texts, of_texts = texts_of(itertools.chain([first], batches), facts)
        if not is_copy(file, aside):  # rows of the copy would be taken for others
            raise UsageError(f"{file} changed while it was read. Wait until the program that writes it ends")
        with project.store.change():
            said = in_words(name, fill_again(project.store, texts))
            table = with_part(Path(copy.name), part) if part else copy.name
            encoding = named_encoding() or facts.get("encoding")
            project.store.note(table=str(table), encoding=encoding, found=[said, *notes, *of_columns, *of_texts])
    return said


def in_words(name: str, changes: Changes) -> str:
    """Say what has changed in a table."""
    said = [
        f"{counted(changes.came, 'row', 'rows')} came" if changes.came else "",
        f"{counted(changes.gone, 'row is gone or has', 'rows are gone or have')} another text" if changes.gone else "",
        f"{counted(changes.relabelled, 'row has', 'rows have')} another label" if changes.relabelled else "",
    ]
    if not any(said):
        return f"{name} has changed, but not in its texts and labels"
    kept = ". What people decided is kept" if changes.gone or changes.relabelled else ""
    return f"{name} has changed: {', '.join(filter(None, said))}{kept}"
