"""Write a file completely or not at all, and explain why one could not be written."""

import errno
import glob
import hashlib
import os
import platform
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from glassformer.errors import GlassformerError, UsageError, brief_value, quoted, words_of

_OF_RUST = re.compile(r"\(os error (\d+)\)")  # how the exceptions of tokenizers and safetensors end
_OF_NUMPY = re.compile(r"\d+ requested and \d+ written")
LONGEST_NAME = 255  # bytes, on all common file systems
_LONGEST_IN_ASIDE = 150  # the name of the machine, of 64 bytes at most, and a number follow
ASIDE = ".writing-"
"""Stands in the names of hidden files and folders until they are written."""
_BEFORE = ".replaced-"
"""The same for a folder that is being replaced."""
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def name_as_text(name: str) -> str:
    """Return the name of a file as text: Python may read its bytes otherwise, as in a locale that is ASCII.

    Raises:
        UsageError: its bytes are not UTF-8.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(name).decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"the name {quoted(name)} is not UTF-8; rename the file or folder") from error
    return name


def beyond_locale() -> str:
    """Say why Python does not read a name as it is, and what to do."""
    return (
        f"cannot be read in this locale, whose encoding is {sys.getfilesystemencoding()}; set LC_ALL=C.UTF-8, and do "
        "not set PYTHONUTF8=0"
    )


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Give a hidden file beside `path` to write to. It is renamed to `path` at the end, or removed after an error.

    Only its owner can read it, as most files hold texts or words of them. If it replaces a file, it gets the
    permissions of that file. What a killed process was writing there is removed.
    """
    remove_left(path)
    aside = aside_of(path)
    try:
        make_private(aside)
        if path.is_file():
            aside.chmod(stat.S_IMODE(path.stat().st_mode))
        yield aside
        aside.replace(path)
    except Exception as error:
        number = None if isinstance(error, GlassformerError) else write_error(error)
        named = getattr(error, "filename", None)
        if number is None or named not in (None, str(aside)):
            raise
        # Neither a write that fails nor an exception of a library in Rust names the file. Others may be read meanwhile.
        shown = str(path) if named or number in _NO_ROOM else None
        raise OSError(number, os.strerror(number), shown) from error
    finally:
        with suppress(OSError):  # nothing can be removed where nothing can be written
            aside.unlink(missing_ok=True)


@contextmanager
def folder_written_aside(path: Path) -> Iterator[Path]:
    """Give a hidden empty folder beside `path` to fill. At the end it replaces `path`; after an error it is removed.

    A link stays a link: the folder that it names is replaced.
    """
    path = path.resolve()
    remove_left(path)
    aside, before = aside_of(path), aside_of(path, _BEFORE)
    with no_empty_folders(path):
        try:
            aside.mkdir(parents=True)
            yield aside
            if path.exists():  # a folder with files in it cannot be replaced in one step
                path.replace(before)
            aside.replace(path)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            _remove_or_put_back(before, path)


def _remove_or_put_back(before: Path, path: Path) -> None:
    """Remove the folder that another one has replaced, or put it back if none has."""
    if path.exists():
        shutil.rmtree(before, ignore_errors=True)
    elif before.exists():
        before.replace(path)


@contextmanager
def no_empty_folders(folder: Path) -> Iterator[None]:
    """Remove `folder` and those above it at the end, if they were made meanwhile and are still empty."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        yield
    finally:
        with suppress(OSError):  # those above one with files in it hold that
            for place in missing:
                if place.exists():
                    place.rmdir()


def is_empty(folder: Path) -> bool:
    """Whether a folder holds no files, or only hidden ones, as a command that was killed may leave them."""
    return all(path.name.startswith(".") for path in folder.iterdir())


def as_path(given: Any) -> Path:
    """Return the path that a user names. Raises `UsageError` if no file or folder can have this name."""
    try:
        path = Path(given)
        path.lstat()
    except (TypeError, ValueError, OSError) as error:  # a number; a null byte; a text of a thousand letters
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
            return path  # none is there yet, or who opens it says more about why it cannot be read
        why = error.strerror if isinstance(error, OSError) else words_of(error)
        named = str(given) if isinstance(given, Path) else given
        raise UsageError(f"{brief_value(named)} cannot be the name of a file or folder: {why}") from error
    return path


def check_link(path: Path) -> None:
    """Raise `UsageError` if a file or folder to write is a link that leads nowhere, such as to itself."""
    as_path(path)
    if path.is_symlink() and not path.exists():
        raise UsageError(f"{path} is a link that leads nowhere; remove it, or choose another name")


def check_no_links(folder: Path, *, to_files: bool = False) -> None:
    """Raise `UsageError` if a folder, or one in it, is a link: what is written and removed in there would be elsewhere.

    The folder may come from another person, and files of yours lie where it leads.

    Args:
        to_files: whether there are no links to files either: what they hold would be shown.
    """
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink() and (to_files or path.is_dir()):
            raise UsageError(f"{path} is a link, and what lies where it leads could be lost or shown; remove the link")


def aside_of(path: Path, kind: str = ASIDE) -> Path:
    """Return the hidden place beside `path` where this process writes what will replace it."""
    return path.with_name(f".{short_name(path)}{kind}{platform.node()}-{os.getpid()}")


def short_name(path: Path) -> str:
    """Return what stands for a name within a longer one."""
    name = os.fsencode(path.name)
    return path.name if len(name) <= _LONGEST_IN_ASIDE else hashlib.sha256(name).hexdigest()


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read and write."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def remove_left(path: Path) -> None:
    """Remove what a process of this machine was writing in place of `path` when it was killed.

    A folder that it had moved away, and not yet replaced, is put back.
    """
    for left in left_by_killed(path, ASIDE):
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
    for left in left_by_killed(path, _BEFORE):
        _remove_or_put_back(left, path)


def put_back_folder(path: Path) -> None:
    """Put back a folder that a process of this machine had moved away, and not yet replaced, when it was killed."""
    if not path.exists():
        path = Path(os.path.realpath(path))  # of a loop of links, `resolve` raises a RuntimeError
        for left in left_by_killed(path, _BEFORE):
            left.replace(path)


def left_by_killed(path: Path, kind: str) -> Iterator[Path]:
    """Yield the hidden places beside `path` of this process, and of those of this machine that have ended."""
    start = f".{short_name(path)}{kind}{platform.node()}-"
    for left in path.parent.glob(f"{glob.escape(start)}*"):
        number = left.name.removeprefix(start)
        if number.isdecimal() and (int(number) == os.getpid() or not _is_running(int(number))):
            yield left


def _is_running(process: int) -> bool:
    if platform.system() == "Windows":
        return True  # who knows: `os.kill` sends it a Ctrl-C there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # of another user
    return True


def version_of(file: Path) -> tuple[int, ...] | None:
    """Return what is another one after another program wrote to the file. None if there is no such file."""
    try:
        now = file.stat()
    except OSError:
        return None
    return now.st_size, now.st_mtime_ns, now.st_ino


def write_aside(path: Path, text: str) -> None:
    """Write a text file as UTF-8, completely or not at all."""
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8")


def write_error(error: BaseException) -> int | None:
    """Return the errno of a read or write error, whichever library raised it, or None for any other error."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if found := _OF_RUST.search(str(error)):
        return int(found[1])
    return errno.ENOSPC if isinstance(error, OSError) and _OF_NUMPY.search(str(error)) else None


def is_no_room(error: BaseException) -> bool:
    """Whether the disk is full, or a quota or the largest file size is reached."""
    return write_error(error) in _NO_ROOM


@contextmanager
def writing_in(folder: Path) -> Iterator[None]:
    """Meanwhile, files without names are written in a folder. Raises `GlassformerError` if they cannot be written."""
    try:
        yield
    except OSError as error:
        raise GlassformerError(f"nothing more can be written in {why_not_written(folder, error, 0)}") from error


def why_not_written(place: Path, error: BaseException, n_bytes: int) -> str:
    """Return a message that says why a file could not be written in a folder, and how much space to free.

    Args:
        n_bytes: the size of the file; 0 if it is not known.
    """
    number = write_error(error)
    cause = str(error).splitlines()[0] if number is None else os.strerror(number)
    if number not in _NO_ROOM:
        return f"{place}: {cause}"
    there = next(path for path in (place, *place.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    if not n_bytes:
        return f"{place}: {cause}; {megabytes(free)} are free there"
    return (
        f"{place}: {cause}; it takes {megabytes(n_bytes)}, and {megabytes(free)} are free there. Free at least "
        f"{megabytes(max(n_bytes - free, n_bytes // 10))}, or raise the limit on the size of files (ulimit -f)"
    )


def megabytes(size: int) -> str:
    """Write a number of bytes: "1.5 MB"."""
    return f"{size / 1e6:,.1f} MB"
