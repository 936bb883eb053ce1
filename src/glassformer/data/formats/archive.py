"""The tables in a zip archive. No path that an archive names is written to."""

from __future__ import annotations

import io
import itertools
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO, cast

from glassformer.data.files import megabytes
from glassformer.data.formats.compressions import is_compressed, most_of
from glassformer.data.formats.format import is_hidden
from glassformer.errors import UsageError, quoted

ZIP = ".zip"
_MOST_UNPACKED = 2**33
"""The most bytes of a member. One that unpacks to far more than it takes in the archive is refused much earlier."""
_ENCRYPTED = 0x1
_DRIVE = re.compile("[A-Za-z]:")


def is_archive(path: Path) -> bool:
    """Whether this is a zip archive, by its extension."""
    return path.suffix.lower() == ZIP


def files_in(path: Path) -> list[str]:
    """Return the names of the files in an archive, in their order. Folders and hidden files are skipped.

    Raises:
        UsageError: it is no archive; or a file in it is encrypted, is an archive itself, has a path that leads out of
            the archive, or unpacks to very much.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in map(_named, archive.infolist()) if not _is_skipped(member)]
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise UsageError(f"{path} cannot be read, it may be damaged: {error}") from error
    for member in members:
        if why := _refused(member):
            raise UsageError(f"{path} holds {quoted(member.filename)}, which {why}")
    names = sorted(member.filename for member in members)
    if twice := next((one for one, other in itertools.pairwise(names) if one == other), None):
        raise UsageError(f"{path} holds {quoted(twice)} twice; pack it again")
    return names


def members_of(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return each member of an archive by its name, as `files_in` gives it."""
    return {member.filename: member for member in map(_named, archive.infolist())}


def _named(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Give a member the name that its programs meant: old ones of Windows write `\\` between folders."""
    member.filename = member.filename.replace("\\", "/")
    return member


def _is_skipped(member: zipfile.ZipInfo) -> bool:
    """Whether a member is a folder, hidden, or has no name."""
    return (
        member.filename in ("", ".")
        or member.is_dir()
        or any(is_hidden(Path(part)) and part != ".." for part in PurePosixPath(member.filename).parts)
    )


def _refused(member: zipfile.ZipInfo) -> str | None:
    parts = PurePosixPath(member.filename).parts
    if ".." in parts or member.filename.startswith("/") or _DRIVE.match(member.filename):
        return "leads out of the archive; unpack it where it can do no harm, and name the table"
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted; unpack it with its password, and name the table"
    if member.filename.lower().endswith(ZIP):
        return "is an archive itself; unpack it, and name the table"
    if member.file_size > min(most_of(member.compress_size), _MOST_UNPACKED):
        return (
            f"would unpack from {megabytes(member.compress_size)} to {megabytes(member.file_size)}; if that "
            "is meant, unpack it, and name the table"
        )
    return None


@contextmanager
def streamed(path: Path, member: str) -> Iterator[BinaryIO]:
    with zipfile.ZipFile(path) as archive, archive.open(members_of(archive)[member]) as file:
        yield io.BufferedReader(cast(io.RawIOBase, file))  # its own readline is slow with a limit


@contextmanager
def unpacked(path: Path, member: str) -> Iterator[Path]:
    """Unpack a member into a temporary file that keeps its extensions, and delete it at the end of the `with` block."""
    endings = PurePosixPath(member).suffixes[-2 if is_compressed(Path(member)) else -1 :]
    with TemporaryDirectory(prefix="glassformer-") as folder:
        target = Path(folder) / f"table{''.join(endings)}"
        with streamed(path, member) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file, 2**20)  # it reads no more than the size that was checked
        yield target
