"""The project's own copy of its table, which is a file or a folder."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glassformer.data.files import folder_written_aside, written_aside
from glassformer.data.formats.format import is_hidden


@contextmanager
def copied(table: Path, copy: Path) -> Iterator[Path]:
    """Copy a table, and give the copy. It is in its place after the `with` block, unless that raises."""
    if table.is_dir():
        with folder_written_aside(copy) as aside:
            shutil.copytree(table, aside, dirs_exist_ok=True, ignore=_hidden_in)
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


def _hidden_in(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if is_hidden(Path(name))]
