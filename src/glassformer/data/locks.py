"""Lock a folder, so that only one process at a time writes into it."""

from __future__ import annotations

import errno
import json
import os
import platform
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from glassformer.data.files import check_link, no_empty_folders
from glassformer.errors import UsageError

if sys.platform != "win32":
    import fcntl

LOCK_FILE = ".in-use.json"
_WAIT = "wait until that run ends"
_UNSUPPORTED = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}  # by some network file systems


@contextmanager
def only_writer(folder: Path, *, setting: str = "out", first: str = _WAIT) -> Iterator[None]:
    """Keep other processes, and other runs of this one, from writing into `folder`. The folder is created if needed.

    The operating system releases the lock when the process ends, even if it is killed. The lock file says who holds the
    lock. On Windows, and on file systems without locks, nothing is locked.

    Args:
        first: what to do while another process writes into it.

    Raises:
        UsageError: another run writes into the folder, or it cannot be one.
    """
    check_link(folder)
    with no_empty_folders(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = _locked(folder, f"{first}, or choose another `{setting}=`")
        except OSError as error:
            if folder.is_file():
                raise UsageError(f"`{setting}={str(folder)!r}` is a file; name a folder") from error
            lock = folder / LOCK_FILE
            if os.path.lexists(lock) and not stat.S_ISREG(lock.lstat().st_mode):
                raise UsageError(f"{lock} is not a regular file, so no run made it; remove it") from error
            raise UsageError(
                f"`{setting}={str(folder)!r}`: nothing can be written there ({error.strerror}); name another folder"
            ) from error
        try:
            yield
        finally:
            with suppress(OSError):  # the folder may be gone
                (folder / LOCK_FILE).unlink()
            file.close()


def check_free(folder: Path, *, instead: str = f"{_WAIT}, or choose another `out=`") -> None:
    """Raise `UsageError` if a run writes into `folder`, or if `folder` is a file, or a link that leads nowhere."""
    check_link(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`out={str(folder)!r}` is a file; name a folder")
    with suppress(OSError), _opened(folder / LOCK_FILE, "r") as file:
        _take(file, folder, instead)


def _opened(path: Path, mode: str) -> IO[str]:
    """Open a lock file. A link is not followed, as what it names would be emptied, and a pipe does not wait."""
    beside = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return open(path, mode, encoding="utf-8", opener=lambda name, flags: os.open(name, flags | beside, 0o666))


def _locked(folder: Path, instead: str) -> IO[str]:
    path = folder / LOCK_FILE
    while True:
        file = _opened(path, "a+")
        _take(file, folder, instead)
        if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            break
        file.close()  # the process that held the lock has just removed the file
    try:
        file.truncate(0)
        since = datetime.now().astimezone().isoformat(" ", "seconds")
        file.write(json.dumps({"pid": os.getpid(), "host": platform.node(), "since": since}))
        file.flush()
    except BaseException:  # the disk is full
        path.unlink(missing_ok=True)
        with suppress(OSError):
            file.close()
        raise
    return file


def _take(file: IO[str], folder: Path, instead: str) -> None:
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        with file:
            raise UsageError(f"{folder} is in use{_holder(file)}; {instead}") from error
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def _holder(file: IO[str]) -> str:
    """Return the process that holds the lock, in words. Empty while that process is still writing the file."""
    file.seek(0)
    try:
        holder = json.loads(file.read(10_000))
        return f" by process {holder['pid']} on {holder['host']}, since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return ""
