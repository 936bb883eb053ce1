"""Texts in files of their own, in a folder for each class: FOLDER/spam/1.txt."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from glassformer.data.encodings import decoded_text
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


def texts_of_class(folder: Path, *, rows_per_batch: int, on_note: OnNote | None = None) -> Iterator[pl.DataFrame]:
    """Yield frames with the columns text, label (the name of the folder) and file, in the order of the files' names.

    Raises:
        UsageError: a file is too long, or is not text.
    """
    files = iter(sorted(path for path in folder.iterdir() if not is_hidden(path)))
    while batch := list(itertools.islice(files, rows_per_batch)):
        texts = [_text_of(path, on_note) for path in batch]
        names = [f"{folder.name}/{path.name}" for path in batch]
        yield pl.DataFrame({"text": texts, "label": [folder.name] * len(batch), "file": names})


def _text_of(path: Path, on_note: OnNote | None) -> str:
    if path.stat().st_size > LONGEST:
        raise UsageError(f"{path} has more than {LONGEST >> 20} MiB, which is no text of one class; remove it")
    return decoded_text(path.read_bytes(), str(path), on_note=on_note).strip()


def _is_text(path: Path) -> bool:
    suffix = path.suffix.lower()
    return path.is_file() and (suffix in FASTTEXT.extensions or suffix not in EXTENSIONS)
