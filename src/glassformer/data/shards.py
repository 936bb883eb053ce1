"""A table in several files: the shards of a folder or of an archive, which are read one after another."""

from collections.abc import Sequence
from pathlib import Path

from glassformer.data.class_folders import class_folders
from glassformer.data.formats.all_formats import format_of, is_note, located
from glassformer.data.formats.archive import files_in, is_archive
from glassformer.data.formats.format import is_hidden
from glassformer.data.lines import OnNote
from glassformer.data.parts import exists
from glassformer.data.wording import listed
from glassformer.errors import UsageError, quoted

_SHOWN = 3


def shards_in(folder: Path, on_note: OnNote | None = None) -> list[Path]:
    """Return the files of a folder in the order of their names. All are tables of one format.

    Files whose names begin with a dot or an underscore are ignored. Notes beside the tables, such as a README, are left
    out, and `on_note` is called with a sentence that names them.

    Raises:
        UsageError: the folder holds no file, another folder, a file that may be no table, or tables of several formats.
    """
    try:
        inside = sorted(path for path in folder.iterdir() if not is_hidden(path))
    except OSError as error:
        raise UsageError(f"{quoted(folder)} cannot be read: {error.strerror}.") from error
    if not inside:
        raise UsageError(f"{folder} is a folder without files; name a table, or a folder of tables.")
    for path in inside:
        if not path.exists():
            raise UsageError(f"{folder} holds {quoted(path.name)}, a broken link; remove it, or restore its file.")
        if path.is_dir():
            raise UsageError(
                f"{folder} is a folder that holds the folder {quoted(path.name)}. The files of one table lie side by "
                "side; name a folder of tables, a file, or a folder that holds a folder of text files for each class."
            )
        if not path.is_file():
            raise UsageError(f"{folder} holds {quoted(path.name)}, a pipe or a device, which may never end; remove it.")
    if tables := [path for path in inside if not is_note(path)]:
        if on_note:
            _say_left_out([path.name for path in inside if is_note(path)], on_note)
        inside = tables
    try:
        formats = {path: format_of(path) for path in inside}
    except UsageError as error:
        raise UsageError(f"{folder} is a folder, and its files are read as one table. {error}") from error
    if other := next((path for path in inside if formats[path] != formats[inside[0]]), None):
        raise UsageError(
            f"{folder} is a folder with files of several formats: {quoted(inside[0].name)} and {quoted(other.name)}. "
            "The files of one table have one format; move the others elsewhere."
        )
    return inside


def files_of(path: Path, on_note: OnNote | None = None) -> list[Path]:
    """Return the files of a table: the path itself, or the shards if it is a folder or an archive with several.

    Of a folder or archive with a folder for each class, they are the latter (see `class_folders`). `on_note` is called
    with a sentence on files beside the tables, which are left out.

    Raises what `shards_in`, `class_folders` and `located` raise.
    """
    if not exists(path):
        return [path]  # reading it raises the error
    if found := class_folders(path):
        return found
    if path.is_dir():
        return shards_in(path, on_note)
    tables = located(path)
    if on_note and is_archive(path):
        members = {table.member for table in tables}
        _say_left_out([name for name in files_in(path) if name not in members], on_note)
    return [table.address for table in tables]


def _say_left_out(names: Sequence[str], on_note: OnNote) -> None:
    if names:
        which = "which is no table" if len(names) == 1 else "which are no tables"
        on_note(f"left out: {listed([*map(quoted, names)], _SHOWN)}, {which}")
