"""Texts in files of their own, in a folder for each class: FOLDER/spam/1.txt."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from glassformer.data.folder_encoding import FolderDecoder
from glassformer.data.formats.all_formats import EXTENSIONS
from glassformer.data.formats.fasttext import FASTTEXT
from glassformer.data.formats.format import is_hidden
from glassformer.data.lines import LONGEST, OnNote
from glassformer.errors import UsageError


def class_folders(folder: Path) -> list[Path]:
    """Return the folders of the classes in the order of their names, or nothing if a folder holds something else.

    Each holds files and nothing else, none of which is a table. Texts beside them, such as a README, are ignored.
    """
    inside = sorted(path for path in folder.iterdir() if not is_hidden(path))
    classes = [path for path in inside if path.is_dir()]
    beside = [path for path in inside if path not in classes]
    if len(classes) < 2 or not all(map(_is_text, beside)):
        return []
    held = [list(filter(lambda path: not is_hidden(path), each.iterdir())) for each in classes]
    return classes if all(files and all(map(_is_text, files)) for files in held) else []


def texts_of_classes(
    folders: Sequence[Path], *, rows_per_batch: int, on_note: OnNote | None = None
) -> Iterator[pl.DataFrame]:
    """Yield frames with the columns text, label (the name of a folder) and file, in the order of the files' names.

    Raises:
        UsageError: a file is too long, or is not text.
    """
    files = [path for folder in folders for path in sorted(folder.iterdir()) if not is_hidden(path)]
    decoder = FolderDecoder(folders[0].parent, files, _bytes_of, on_note=on_note)
    for label, of_class in itertools.groupby(files, key=lambda path: path.parent.name):
        while batch := list(itertools.islice(of_class, rows_per_batch)):
            texts = [decoder.text(path).strip() for path in batch]
            names = [f"{label}/{path.name}" for path in batch]
            yield pl.DataFrame({"text": texts, "label": [label] * len(batch), "file": names})


def _bytes_of(path: Path) -> bytes:
    if path.stat().st_size > LONGEST:
        raise UsageError(f"{path} has more than {LONGEST >> 20} MiB, which is no text of one class; remove it")
    return path.read_bytes()


def _is_text(path: Path) -> bool:
    suffix = path.suffix.lower()
    return path.is_file() and (suffix in FASTTEXT.extensions or suffix not in EXTENSIONS)
