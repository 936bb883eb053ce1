"""Texts in files of their own, in a folder for each class: FOLDER/spam/1.txt.

They may stand in an archive, which is named as if it were that folder: mails.zip/spam/1.txt.
"""

from __future__ import annotations

import itertools
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from glassformer.data.files import name_as_text
from glassformer.data.folder_encoding import FolderDecoder
from glassformer.data.formats.all_formats import EXTENSIONS
from glassformer.data.formats.archive import files_in, is_archive, members_of
from glassformer.data.formats.fasttext import FASTTEXT
from glassformer.data.formats.format import is_hidden
from glassformer.data.lines import LONGEST, OnNote
from glassformer.data.wording import listed
from glassformer.errors import UsageError, quoted

_SHOWN = 3


def class_folders(folder: Path) -> list[Path]:
    """Return the folders of the classes in the order of their names, or nothing if a folder holds something else.

    Each holds files and nothing else, none of which is a table. Texts beside them, such as a README, are left out. In
    an archive, the folders may stand within others.

    Raises what `files_in` raises, of an archive.
    """
    if not folder.is_dir():
        return _of_archive(folder) if is_archive(folder) and folder.is_file() else []
    inside = sorted(path for path in folder.iterdir() if not is_hidden(path))
    classes = [path for path in inside if path.is_dir()]
    beside = [path for path in inside if path not in classes]
    if len(classes) < 2 or not all(map(_is_text, beside)):
        return []
    held = [list(filter(lambda path: not is_hidden(path), each.iterdir())) for each in classes]
    return classes if all(files and all(map(_is_text, files)) for files in held) else []


def _of_archive(archive: Path) -> list[Path]:
    files = [archive / name for name in files_in(archive)]
    if not files or not all(map(_is_named_as_text, files)):
        return []
    holding = {file.parent for file in files}
    classes = sorted(holding.difference(*(folder.parents for folder in holding)))
    return classes if len(classes) > 1 and len({each.parent for each in classes}) == 1 else []


def is_class_folder(path: Path) -> bool:
    """Whether this is a folder, or one in an archive."""
    return path.is_dir() or _archive_of(path) is not None


def _archive_of(path: Path) -> Path | None:
    return next((above for above in path.parents if is_archive(above) and above.is_file()), None)


def texts_of_classes(
    folders: Sequence[Path], *, rows_per_batch: int, on_note: OnNote | None = None
) -> Iterator[pl.DataFrame]:
    """Yield frames with the columns text, label (the name of a folder) and file, in the order of the files' names.

    Raises:
        UsageError: a file is too long, or is not text, or a name is not UTF-8.
    """
    if on_note and (beside := _beside(folders)):
        lie = "lies" if len(beside) == 1 else "lie"
        on_note(f"left out: {listed([*map(quoted, beside)], _SHOWN)}, which {lie} outside the folders of the classes")
    with _opened(folders[0].parent) as (files_of, bytes_of):
        files = [path for folder in folders for path in sorted(files_of(folder)) if not is_hidden(path)]
        decoder = FolderDecoder(folders[0].parent, files, bytes_of, on_note=on_note)
        for label, of_class in itertools.groupby(files, key=lambda path: path.parent.name):
            while batch := list(itertools.islice(of_class, rows_per_batch)):
                texts = [decoder.text(path).strip() for path in batch]
                names = [name_as_text(f"{label}/{path.name}") for path in batch]
                yield pl.DataFrame({"text": texts, "label": [name_as_text(label)] * len(batch), "file": names})


def _beside(folders: Sequence[Path]) -> list[str]:
    """Return the names of the texts that are in none of the folders."""
    root = folders[0].parent
    if (archive := _archive_of(folders[0])) is None:
        return sorted(path.name for path in root.iterdir() if path not in folders and not is_hidden(path))
    return [name for name in files_in(archive) if (archive / name).parent not in folders]


@contextmanager
def _opened(root: Path) -> Iterator[tuple[Callable[[Path], Iterable[Path]], Callable[[Path], bytes]]]:
    """Give what lists the files of a class, and what reads one of them."""
    archive = _archive_of(root / "class")
    if archive is None:
        yield Path.iterdir, lambda path: _checked(path, path.stat().st_size).read_bytes()
        return
    of_classes: dict[Path, list[Path]] = {}
    for name in files_in(archive):
        of_classes.setdefault((archive / name).parent, []).append(archive / name)
    with zipfile.ZipFile(archive) as opened:
        members = {archive / name: member for name, member in members_of(opened).items()}  # a name may begin with ./

        def read(path: Path) -> bytes:
            member = members[path]
            _checked(path, member.file_size)
            return opened.read(member)

        yield of_classes.__getitem__, read


def _checked(path: Path, size: int) -> Path:
    if size > LONGEST:
        raise UsageError(f"{path} has more than {LONGEST >> 20} MiB, which is no text of one class; remove it")
    return path


def _is_text(path: Path) -> bool:
    return path.is_file() and _is_named_as_text(path)


def _is_named_as_text(path: Path) -> bool:
    suffix = path.suffix.lower()
    return suffix in FASTTEXT.extensions or suffix not in EXTENSIONS
