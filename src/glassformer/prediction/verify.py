"""Compare the files of a folder that glassformer wrote with the checksums that it wrote beside them or into them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from glassformer.data.checksums import SUMS_FILE, damaged, is_as_written, read_sums
from glassformer.data.locks import check_free
from glassformer.data.store import STORE_FILE, is_whole_store
from glassformer.errors import UsageError
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER
from glassformer.prediction.replacing import put_back
from glassformer.prediction.shard_manifest import MANIFEST, answers_of


@dataclass(kw_only=True)
class Verified:
    """Names of files in the folder.

    Attributes:
        whole: those that are as they were written.
        damaged: those that were changed or are missing.
        missing: those of them that are missing.
        unknown: those without a checksum: they were added later.
    """

    whole: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def verify(folder: Path) -> Verified:
    """Compare all files of a folder, and of the folders in it, with their checksums.

    The folder may hold a model, an export, vectors, an unfinished run or answers to shards.

    Raises:
        UsageError: there is no such folder, none of its files has a checksum, or a run is writing some of them.
        GlassformerError: the list of checksums itself is damaged.
    """
    put_back(folder)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    found = dict(_compared(folder.resolve()))
    if not found:
        raise UsageError(f"no file of {folder} has a checksum: it is not of glassformer, or was made by an older one")
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    damaged = sorted(name for name, whole in found.items() if not whole)
    if damaged:
        check_free(folder, instead="verify it when that has ended")
    return Verified(
        whole=sorted(name for name, whole in found.items() if whole),
        damaged=damaged,
        missing=[name for name in damaged if not (folder / name).is_file()],
        unknown=[name for name in files if name not in found and Path(name).name not in (SUMS_FILE, MANIFEST)],
    )


def _compared(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield each file that has a checksum, and whether it is as it was written."""
    for path in sorted(folder.rglob("*")):
        place = path.parent
        if path.name == SUMS_FILE:
            yield from _named(folder, place, read_sums(place))
        elif path.name == STORE_FILE:
            whole = is_whole_store(place)
            yield from ((_name(folder, each), whole) for each in place.iterdir() if each.is_file())
        elif path.name == MANIFEST and path.is_file():
            yield from _named(folder, place, answers_of(place))
        elif path.suffix == ".safetensors" and CHECKPOINT_FOLDER in path.parts:
            yield _name(folder, path), is_as_written(path)


def _named(folder: Path, place: Path, sums: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    changed = {*damaged(place, sums)}
    return ((_name(folder, place / name), name not in changed) for name in sums)


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()
