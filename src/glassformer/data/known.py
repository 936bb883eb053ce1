"""Data sets that can be named instead of a file: their sources, their terms and their official splits."""

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import polars as pl

from glassformer.data import sentiment140, unpacking
from glassformer.data.addresses import is_elsewhere, local_path, without_password
from glassformer.data.columns import Wanted
from glassformer.data.download import Progress, fetch
from glassformer.data.parts import exists, file_of
from glassformer.data.rows import check_file
from glassformer.data.table import Table, read_table
from glassformer.data.wording import did_you_mean
from glassformer.errors import UsageError

Split = Literal["train", "test"]


@dataclass(frozen=True, kw_only=True)
class KnownDataset:
    """One data set. Its files lie in `<data folder>/<name>/`, with the columns `text` and `label`."""

    name: str
    title: str
    description: str
    licence: str
    citation: str
    splits: str
    """The official split, in words."""
    label_names: dict[str, str] = field(default_factory=dict)
    """What the labels in the files mean."""
    files: dict[str, list[str]] = field(default_factory=dict)
    """The files of each split, and of texts without labels if it has any. The first one that exists is read. Empty if
    the data set is generated."""
    group: str | None = None
    """The column with a group for each row. No group is in both splits, so validation should split none either."""
    source_url: str | None = None
    """Where `data get` downloads it. None if it is generated, or must be fetched by hand (see `by_hand`)."""
    checksum: str | None = None
    """The checksum of the download, "sha256:…". None if the rows themselves are checked."""
    by_hand: str | None = None
    """How to get it, if only the user may download it."""
    unpack: Callable[[Path, Path], None] | None = None
    """Reads the download and writes the files."""
    training_rows: Callable[[Path, Callable[[Path], Table], Path | None], Table] | None = None
    """Reads the training rows, if they are not simply all rows of the file.

    It receives the file that exists (others may lie beside it), the reader to use, and the file of the test rows or
    None.
    """


_OWN: dict[str, dict[str, Any]] = {  # what is done for one data set alone
    "zhou": {"unpack": unpacking.unpack_zhou},
    "disaster-tweets": {"unpack": unpacking.unpack_disaster_tweets},
    "imdb": {"unpack": unpacking.unpack_imdb},
    "sentiment140": {"unpack": unpacking.unpack_sentiment140, "training_rows": sentiment140.training_rows},
}
KNOWN = {
    name: KnownDataset(name=name, **fields, **_OWN.get(name, {}))
    for name, fields in tomllib.loads(Path(__file__).with_name("known.toml").read_text(encoding="utf-8")).items()
}


def resolve(source: str, split: Split, data_dir: Path | None = None, **wanted: Unpack[Wanted]) -> Table:
    """Read a split of a known data set if `source` is its name, else the file at that path (see `read_table`).

    Raises `UsageError` for a known name whose files are not on this machine, and if `source` is neither a known name
    nor a file.
    """
    if source not in KNOWN:
        _refuse_unknown_name(source)
        table = read_table(local_path(source), **wanted)
        return replace(table, source=without_password(source)) if is_elsewhere(source) else table
    known, text, label = KNOWN[source], wanted.get("text"), wanted.get("label")
    multilabel = wanted.get("multilabel")
    if not known.files:
        others = (*wanted.get("other_texts", ()), *wanted.get("beside", ()))
        given = (text, label, wanted.get("group"), wanted.get("time"), multilabel, *others)
        if asked := [name for name in given if name not in (None, "text", "label")]:
            raise UsageError(f"{source} has the columns text and label, nothing else; {asked[0]!r} does not apply.")
        from glassformer.data import polarity

        return polarity.generate(split)
    path = _found(source, split, data_dir)
    columns: Wanted = {**wanted, "text": text or "text", "label": label or "label"}

    def read(path: Path) -> Table:
        return read_table(path, **columns)

    if known.training_rows is not None and split == "train":
        table = known.training_rows(path, read, find(source, "test", data_dir))
    else:
        table = read(path)
    frame = table.frame
    if label is None and multilabel is None:
        frame = frame.with_columns(pl.col("label").replace(known.label_names))
    if known.files["train"] == known.files["test"]:  # there is one published file, and a part of it is the test split
        frame = _tenth(frame, split)
    return replace(table, frame=frame, source=source, notes=(f"{source}: {known.splits}", *table.notes))


def group_column(source: str, data_dir: Path | None = None) -> str | None:
    """Return the column with the groups of the training rows, if `source` is a known data set that has one."""
    column = KNOWN[source].group if source in KNOWN else None
    path = None if column is None else find(source, "train", data_dir)
    return column if path is not None and column in pl.read_parquet_schema(path) else None


def resolve_unlabelled(name: str, data_dir: Path | None = None) -> Table:
    """Read the unlabelled texts that a known data set brings.

    Raises:
        UsageError: it has none, or they are not on this machine.
    """
    if "unlabelled" not in KNOWN[name].files:
        having = ", ".join(known.name for known in KNOWN.values() if "unlabelled" in known.files)
        raise UsageError(f"{name} has no unlabelled texts. Known data sets with some: {having}")
    path = _found(name, "unlabelled", data_dir)
    return replace(read_table(path, text="text", labelled=False), source=name)


def data_folders(data_dir: Path | None = None) -> tuple[Path, ...]:
    """Return the folders to search for known data sets: `data_dir` alone, or GLASSFORMER_DATA and then the cache."""
    if data_dir is not None:
        return (data_dir,)
    try:
        home = Path.home()
    except RuntimeError:  # a user that the system does not know
        home = Path()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "glassformer" / "data"
    named = os.environ.get("GLASSFORMER_DATA")
    return (Path(named), cache) if named else (cache,)


def find(name: str, split: str, data_dir: Path | None = None) -> Path | None:
    """Return the file that holds a split of a known data set on this machine, or None."""
    paths = (folder / name / file for folder in data_folders(data_dir) for file in KNOWN[name].files[split])
    return next((path for path in paths if exists(path) and path.is_file()), None)


def _found(name: str, split: str, data_dir: Path | None) -> Path:
    """Return the same. Raises `UsageError` if there is none."""
    if (path := find(name, split, data_dir)) is None:
        raise UsageError(
            f"The {split} rows of {name} are not in {', '.join(map(str, data_folders(data_dir)))}. Get them: "
            f"glassformer data get {name}. Or name the folder that holds {name}/{KNOWN[name].files[split][0]} with "
            "`data_dir=` or GLASSFORMER_DATA."
        )
    return path


def missing_splits(name: str, data_dir: Path | None = None) -> list[str]:
    """Return the splits of a known data set that are not on this machine."""
    return [split for split in KNOWN[name].files if find(name, split, data_dir) is None]


def download(name: str, data_dir: Path | None = None, *, progress: Progress, from_file: Path | None = None) -> Path:
    """Download a known data set, verify it, write it to `<data_dir or the cache>/<name>/`, and return that folder.

    `from_file` is the published file, if the user has it already. Raises `UsageError` for an unknown name, and for a
    data set that must be fetched by hand. Raises `GlassformerError` if the download fails or its checksum differs; the
    download is then removed.
    """
    if name not in KNOWN:
        raise UsageError(f"{name!r} is not a known data set. {_known_names(name)}")
    known = KNOWN[name]
    if known.unpack is None:
        raise UsageError(f"{name} is generated when it is used; there is nothing to download.")
    if from_file is None and known.source_url is None:
        raise UsageError(f"{name} cannot be downloaded for you. {known.by_hand}")
    if from_file is not None and not from_file.is_file():
        raise UsageError(f"No such file: {from_file} (`from_file=`).")
    folder = data_folders(data_dir)[-1] / name
    folder.mkdir(parents=True, exist_ok=True)
    published = from_file or folder / "download.part"
    try:
        if from_file is None and known.source_url is not None:
            otherwise = "Try again, or download it by other means and name the file with `from_file=`."
            fetch(known.source_url, published, progress, otherwise=otherwise)
        if known.checksum is not None:
            unpacking.verify(published, known.checksum)
        known.unpack(published, folder)
    finally:
        (folder / "download.part").unlink(missing_ok=True)
    return folder


def check_source(source: str) -> None:
    """Raise `UsageError` if this is neither the name of a known data set nor a file or folder.

    Nothing is read of a file. What an address names is fetched.
    """
    if source not in KNOWN and not is_there(path := local_path(source)):
        _refuse_unknown_name(source)
        check_file(path)


def _refuse_unknown_name(source: str) -> None:
    """Raise `UsageError` for a bare word without extension that is not a file: it was meant as a name."""
    path = Path(source)
    if not path.suffix and path.name == source and not is_there(path):
        raise UsageError(f"{source!r} is neither a file nor a known data set. {_known_names(source)}")


def is_there(path: Path) -> bool:
    """Whether there is a file or folder of this name; of a part of a file, whether the file is there."""
    return exists(file_of(path))


def _known_names(name: str) -> str:
    return f"Known: {', '.join(KNOWN)}.{did_you_mean(name, KNOWN)}"


def _tenth(frame: pl.DataFrame, split: Split) -> pl.DataFrame:
    """Return the test rows that pandas' sample(frac=1) and then sample(frac=0.1) give, or the other rows.

    Both calls have random_state=42. pandas draws by `RandomState.choice` without replacement. The second draw is from
    the shuffled rows.
    """
    n_rows = frame.height
    shuffled = np.random.RandomState(42).choice(n_rows, size=n_rows, replace=False)
    test = np.random.RandomState(42).choice(n_rows, size=round(0.1 * n_rows), replace=False)
    return frame[shuffled[test] if split == "test" else np.delete(shuffled, test)]
