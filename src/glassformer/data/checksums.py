"""Checksums: of the files of a folder, as `sha256sum` writes and checks them, and of arrays in one file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError, deserialize, safe_open
from safetensors.numpy import save_file

from glassformer.data.arrays import Array
from glassformer.data.files import LONGEST_NAME, megabytes, version_of, write_aside, written_aside
from glassformer.errors import GlassformerError, UsageError, quoted

SUMS_FILE = "SHA256SUMS"
"""The checksums of the other files of a folder. `sha256sum -c SHA256SUMS` checks them too."""
_MOST_BYTES = 1 << 20
_LONGEST_PATH = 4095  # bytes
_MOST_HOLES = 1 << 30  # bytes
_TRIES = 5
Found = TypeVar("Found")


def sha256_of(files: Sequence[Path]) -> str:
    """Return the fingerprint of some files, one after another. For several it depends on their names too.

    Raises:
        GlassformerError: a file has gigabytes of holes.
    """
    whole = hashlib.sha256()
    for path in files:
        _check_holes(path)
        with path.open("rb") as file:
            each = hashlib.file_digest(file, "sha256")
        if len(files) == 1:
            return each.hexdigest()
        whole.update(f"{path.name} {each.hexdigest()}\n".encode())
    return whole.hexdigest()


def write_sums(folder: Path) -> None:
    """Write the checksums of the files of a folder, and of the folders in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS_FILE)
    _write(folder, {path.relative_to(folder).as_posix(): sha256_of([path]) for path in files})
    (folder / SUMS_FILE).chmod(max(path.stat().st_mode for path in files))  # whoever reads the files compares them


def add_sum(folder: Path, name: str) -> None:
    """Write the checksum of one more file of a folder, or of a file that was written anew."""
    _write(folder, read_sums(folder) | {name: sha256_of([folder / name])})
    (folder / SUMS_FILE).chmod((folder / name).stat().st_mode)


def is_changed(path: Path) -> bool:
    """Whether a file that has a checksum in its folder differs from it."""
    digest = read_sums(path.parent).get(path.name)
    return digest is not None and bool(damaged(path.parent, {path.name: digest}))


def _write(folder: Path, sums: Mapping[str, str]) -> None:
    write_aside(folder / SUMS_FILE, "".join(f"{digest}  {name}\n" for name, digest in sums.items()))


def replace_file(folder: Path, name: str, text: str) -> None:
    """Write a file of a folder anew, and its checksum if it has one. The folder can be read at any time."""
    sums, mode = read_sums(folder), (folder / name).stat().st_mode
    had_sum = sums.pop(name, None) is not None
    if had_sum:
        _write(folder, sums)
    write_aside(folder / name, text)
    (folder / name).chmod(mode)
    if had_sum:
        add_sum(folder, name)


def has_sums(folder: Path) -> bool:
    """Whether the folder has checksums of its files."""
    return bool(read_sums(folder))


def read_sums(folder: Path) -> dict[str, str]:
    """Return the checksum of each file by its path in the folder. Older folders have none.

    Raises:
        GlassformerError: the file with the checksums is damaged.
    """
    path = folder / SUMS_FILE
    if not path.is_file():
        return {}
    if path.stat().st_size > _MOST_BYTES:
        raise GlassformerError(f"{path} is damaged: it is too large for a list of checksums")
    sums = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        inside = name and not Path(name).is_absolute() and ".." not in Path(name).parts
        whole = bytes(folder / name)
        is_name = inside and max(map(len, name.encode().split(b"/"))) <= LONGEST_NAME and len(whole) <= _LONGEST_PATH
        if len(digest) != hashlib.sha256().digest_size * 2 or not is_name:
            raise GlassformerError(
                f"{path} is damaged: line {number} is no checksum and name of a file; copy the folder again"
            )
        sums[name] = digest
    return sums


def check_nothing_added(folder: Path) -> None:
    """Raise `UsageError` if files were put into a folder after its checksums were written, before it is replaced."""
    sums = read_sums(folder)
    files = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if not path.is_dir())
    if sums and (added := [name for name in files if name not in sums and name != SUMS_FILE]):
        raise UsageError(
            f"{folder} would be replaced, and holds a file of yours, {quoted(added[0])}; move it elsewhere"
        )


def damaged(folder: Path, sums: Mapping[str, str]) -> list[str]:
    """Return the names of the files that are missing or differ from their checksums.

    A file of many names is read once: else a small folder could keep its reader busy for days.
    """
    digests, found = dict[object, str](), list[str]()
    for name, digest in sums.items():
        path = folder / name
        if path.is_file():
            about = path.stat()
            same = about.st_dev, about.st_ino or name  # some file systems number no files
            digests[same] = digests.get(same) or sha256_of([path])
            if digests[same] == digest:
                continue
        found.append(name)
    return found


def _check_holes(path: Path) -> None:
    """Raise `GlassformerError` if a file has gigabytes of holes. They take no space, and may take hours to read."""
    size, holes, place = path.stat().st_size, 0, 0
    if size <= _MOST_HOLES or not hasattr(os, "SEEK_HOLE"):
        return
    with suppress(OSError), path.open("rb", buffering=0) as file:  # not all file systems know them
        while place < size:
            hole, place = file.seek(place, os.SEEK_HOLE), size
            with suppress(OSError):  # no data follows
                place = file.seek(hole, os.SEEK_DATA)
            holes += place - hole
    if holes > _MOST_HOLES:
        raise GlassformerError(
            f"{path} is damaged: {megabytes(holes)} of its {megabytes(size)} were never written; copy it again"
        )


def check_sums(folder: Path, *, only: Collection[str] | None = None, unread: Collection[str] = ()) -> None:
    """Compare the files that a folder has with their checksums, if it has some. Who reads a file says if it is missing.

    Raises:
        GlassformerError: a file was changed. The message names it.
    """
    sums = read_sums(folder)
    wanted = {name: digest for name, digest in sums.items() if name not in unread and (only is None or name in only)}
    if found := [name for name in damaged(folder, wanted) if (folder / name).exists()]:
        raise GlassformerError(
            f"{folder / found[0]} is not as it was written: its checksum differs from the one in {SUMS_FILE}. Copy the "
            f"folder again; or, if you changed the file yourself, delete {SUMS_FILE}"
        )


def version_in(folder: Path) -> list[tuple[int, ...] | None]:
    """Return what changes if other files of a model are put into a folder: its config goes first, and comes last."""
    return [version_of(folder / name) for name in ("config.json", SUMS_FILE)]


def read_at_once(folder: Path, read: Callable[[], Found]) -> Found:
    """Return what is read of a folder, read again if it was replaced meanwhile: else it may be of two models.

    Raises:
        GlassformerError: that of `read`, or the folder was replaced each time.
    """
    for _ in range(_TRIES):
        before = version_in(folder)
        try:
            found = read()
        except GlassformerError:
            if version_in(folder) == before:
                raise
        else:
            if version_in(folder) == before:
                return found
    raise GlassformerError(f"{folder} was replaced again and again while it was read; read it when that has ended")


def digest_of_arrays(arrays: Mapping[str, Array], said: str) -> str:
    """Return the fingerprint of what is said about arrays, and of their names and bytes."""
    digest = hashlib.sha256(said.encode())
    for name in sorted(arrays):
        digest.update(f"\0{name}\0".encode())
        digest.update(np.asarray(arrays[name], order="C").reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def save_arrays(path: Path, arrays: Mapping[str, Array], said: Any = None) -> None:
    """Write arrays, and JSON about them, into a safetensors file with a checksum: completely or not at all."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps(said)
    metadata = {"said": text, "sha256": digest_of_arrays(contiguous, text)}
    with written_aside(path) as aside:
        save_file(contiguous, aside, metadata=metadata)


def load_arrays(path: Path | None) -> tuple[dict[str, Array], Any] | None:
    """Return what `save_arrays` wrote, or None if the file is missing or damaged."""
    if path is None or not path.is_file():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            metadata = file.metadata() or {}
    except (SafetensorError, OSError, KeyError, TypeError, ValueError):
        return None
    text = metadata.get("said", "")
    try:
        return (arrays, json.loads(text)) if metadata.get("sha256") == digest_of_arrays(arrays, text) else None
    except (ValueError, RecursionError):  # the checksum was made for something else
        return None


def is_as_written(path: Path) -> bool:
    """Whether a safetensors file of any types matches the checksum in it."""
    if not path.is_file():  # a pipe may never end
        return False
    _check_holes(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
        entries = deserialize(path.read_bytes())
    except (SafetensorError, OSError):
        return False
    arrays = {name: np.frombuffer(entry["data"], np.uint8) for name, entry in entries}
    return metadata.get("sha256") == digest_of_arrays(arrays, metadata.get("said", ""))
