"""Files that are complete or not there, and why one could not be written."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OF_RUST = re.compile(r"\(os error (\d+)\)")  # tokenizers and safetensors say so in exceptions of their own
_OF_NUMPY = re.compile(r"\d+ requested and \d+ written")
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A hidden name beside `path` to write to; renamed to `path` in the end, or removed when something failed."""
    aside = path.with_name(f".{path.name}.writing-{os.getpid()}")
    try:
        yield aside
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def write_error(error: BaseException) -> int | None:
    """The system's number of an error of reading or writing, whichever library reports it; none of another error."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if found := _OF_RUST.search(str(error)):
        return int(found[1])
    return errno.ENOSPC if isinstance(error, OSError) and _OF_NUMPY.search(str(error)) else None


def is_no_room(error: BaseException) -> bool:
    """Whether the disk is full, or a quota or the limit of a file's size is reached."""
    return write_error(error) in _NO_ROOM


def why_not_written(place: Path, error: BaseException, n_bytes: int) -> str:
    """What kept a file of so many bytes from being written in a folder, and what to free.

    Args:
        n_bytes: 0 where that is not known.
    """
    number = write_error(error)
    cause = str(error).splitlines()[0] if number is None else os.strerror(number)
    if number not in _NO_ROOM:
        return f"{place}: {cause}"
    there = next(path for path in (place, *place.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    if not n_bytes:
        return f"{place}: {cause}; {_megabytes(free)} are free there"
    return (
        f"{place}: {cause}; it takes {_megabytes(n_bytes)}, and {_megabytes(free)} are free there. Free at least "
        f"{_megabytes(max(n_bytes - free, n_bytes // 10))}, or raise the limit on the size of files (ulimit -f)"
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
