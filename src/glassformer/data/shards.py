"""A table in several files: the shards of a folder or of an archive, which are read one after another."""

from pathlib import Path

from glassformer.data.class_folders import class_folders
from glassformer.data.formats.all_formats import format_of, located
from glassformer.data.formats.format import is_hidden
from glassformer.data.parts import exists
from glassformer.errors import UsageError, quoted


def shards_in(folder: Path) -> list[Path]:
    """Return the files of a folder in the order of their names. All are tables of one format.

    Files whose names begin with a dot or an underscore are ignored.

    Raises:
        UsageError: the folder holds no file, another folder, a file that is no table, or tables of several formats.
    """
    try:
        inside = sorted(path for path in folder.iterdir() if not is_hidden(path))
    except OSError as error:
        raise UsageError(f"{quoted(folder)} cannot be read: {error.strerror}.") from error
    if not inside:
        raise UsageError(f"{folder} is a folder without files; name a table, or a folder of tables.")
    if lost := next((path.name for path in inside if not path.exists()), None):
        raise UsageError(f"{folder} holds {quoted(lost)}, a broken link; remove it, or restore its file.")
    if deeper := next((path.name for path in inside if path.is_dir()), None):
        raise UsageError(
            f"{folder} is a folder that holds the folder {quoted(deeper)}. The files of one table lie side by side; "
            "name a folder of tables, a file, or a folder that holds a folder of text files for each class."
        )
    try:
        formats = {path: format_of(path) for path in inside}
    except UsageError as error:
        raise UsageError(f"{folder} is a folder, and its files are read as one table. {error}") from error
    other = next((path for path in inside if formats[path] != formats[inside[0]]), None)
    if other is not None:
        raise UsageError(
            f"{folder} is a folder with files of several formats: {quoted(inside[0].name)} and {quoted(other.name)}. "
            "The files of one table have one format; move the others elsewhere."
        )
    return inside


def files_of(path: Path) -> list[Path]:
    """Return the files of a table: the path itself, or the shards if it is a folder or an archive with several.

    Of a folder or archive with a folder for each class, they are the latter (see `class_folders`).

    Raises what `shards_in`, `class_folders` and `located` raise.
    """
    if not exists(path):
        return [path]  # reading it raises the error
    return class_folders(path) or (shards_in(path) if path.is_dir() else [table.address for table in located(path)])
