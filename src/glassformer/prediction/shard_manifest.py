"""The manifest of a folder of answers: which model and settings made them, and which shards are finished.

`_glassformer.jsonl` has a line for the model and the settings, and below it a line for each finished shard. A line is
only ever added, so a run over many shards never writes the file anew, and a kill can cut off the last line at most.
"""

import os
from collections.abc import Mapping, Sequence
from operator import not_
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from glassformer.data.checksums import sha256_of
from glassformer.data.files import is_empty, write_aside, writing_in
from glassformer.errors import GlassformerError, UsageError, quoted
from glassformer.prediction.exported import MODEL_FILE
from glassformer.prediction.reader_files import files_of_readers
from glassformer.readers.counting.reader import NGRAMS_FILE, WEIGHTS_FILE
from glassformer.readers.counting.unlike import SEEN_FILE

MANIFEST = "_glassformer.jsonl"  # programs that read folders of tables ignore names with an underscore
_REPLACED = "_glassformer-replaced.jsonl"
"""The manifest of answers that `overwrite` replaces. They stay until the new ones are finished."""
_DECIDING = (
    "config.json", "tokenizer.json", "model.safetensors", MODEL_FILE, NGRAMS_FILE, WEIGHTS_FILE, SEEN_FILE,
)  # fmt: skip


class MadeBy(BaseModel, frozen=True, extra="forbid"):
    """The first line: what decides the answers besides the shards."""

    format: Literal["glassformer-shards"] = "glassformer-shards"
    format_version: Literal[1] = 1
    model: str
    """The SHA-256 of the model's files."""
    text_column: str
    safe_csv: bool
    review_below: float | None = None
    encoding: str | None = Field(default=None, exclude_if=not_)


class Finished(BaseModel, frozen=True, extra="forbid"):
    """A finished shard: which file it was, its answers, and counts over them.

    Attributes:
        size, answers_size: of the two files, in bytes.
        empty: how many rows have an empty text, and so no answer.
    """

    shard: str
    size: int
    modified_ns: int
    sha256: str
    answers: str = Field(pattern=r"^[^/\x00]*[^/.\x00][^/\x00]*$", max_length=255)  # no path: this file may be deleted
    answers_size: int
    answers_sha256: str
    rows: NonNegativeInt
    empty: NonNegativeInt
    unlike: NonNegativeInt
    needs_review: NonNegativeInt = 0
    predictions: dict[str, NonNegativeInt]

    def has_answers(self, out: Path) -> bool:
        """Whether the file with the answers is there, whole."""
        path = out / self.answers
        return path.is_file() and path.stat().st_size == self.answers_size

    def is_of(self, shard: Path) -> bool:
        """Whether a shard is still the one that was answered. Only a shard with another time is read for this."""
        now = shard.stat()
        if now.st_size != self.size:
            return False
        return now.st_mtime_ns == self.modified_ns or sha256_of([shard]) == self.sha256


class Manifest:
    """The manifest in a folder. The caller holds the lock of the folder (`only_writer`)."""

    def __init__(self, out: Path, finished: Mapping[str, Finished]) -> None:
        self.out = out
        self.finished = dict(finished)
        """Shard → its line."""

    @classmethod
    def begin(cls, out: Path, made_by: MadeBy, shards: Sequence[Path], *, overwrite: bool) -> Self:
        """Read the manifest of a folder, or write a new one.

        Raises:
            UsageError: the folder holds other files, or the answers of another model, with other settings or to a shard
                that was changed since.
            GlassformerError: the manifest is damaged.
        """
        path = out / MANIFEST
        if path.is_file():
            before, finished = _read(path)
            if not overwrite:
                _check_same(out, before, made_by)
                _check_unchanged(out, finished, shards)
                return cls(out, {name: line for name, line in finished.items() if line.has_answers(out)})
            _keep_list(out / _REPLACED, before, finished)
        elif not is_empty(out):
            raise UsageError(f"{out} is a folder with other files in it; choose an `out=` that is new or empty")
        write_aside(path, made_by.model_dump_json() + "\n")
        return cls(out, {})

    def check_not_replaced(self, answers: Mapping[str, str]) -> None:
        """Raise `UsageError` if the answers to a waiting shard would replace those to another, as after a renaming.

        Args:
            answers: shard → the name of its answers.
        """
        kept = {line.answers: shard for shard, line in self.finished.items()}
        for shard, name in answers.items():
            if shard not in self.finished and name in kept:
                raise UsageError(
                    f"{self.out / name} holds the answers to {quoted(kept[name])}, and those to {quoted(shard)} would "
                    "have the same name; rename the shard, or delete that file"
                )

    def add(self, line: Finished) -> None:
        """Note that a shard is finished. Its answers already have their name.

        Raises:
            GlassformerError: the disk is full, or the folder gone.
        """
        with writing_in(self.out), (self.out / MANIFEST).open("ab") as file:
            file.write(line.model_dump_json().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.finished[line.shard] = line

    @property
    def keeps_replaced(self) -> bool:
        """Whether answers that `overwrite` is to replace are still there."""
        return (self.out / _REPLACED).is_file()

    def remove_replaced(self) -> None:
        """Delete the answers that `overwrite` was to replace and that no shard has replaced: their shards are gone."""
        path, answers = self.out / _REPLACED, {line.answers for line in self.finished.values()}
        if self.keeps_replaced:
            for line in _read(path)[1].values():
                if line.answers not in answers:
                    (self.out / line.answers).unlink(missing_ok=True)
            path.unlink()


def model_sha256(folder: Path) -> str:
    """Return the fingerprint of a model: of all files that decide its answers."""
    own = [folder / name for name in _DECIDING if (folder / name).is_file()]
    return sha256_of([*own, *files_of_readers(folder)])


def _read(path: Path) -> tuple[MadeBy, dict[str, Finished]]:
    """Return the first line, and the others by shard: the last one counts. A line that was cut off is removed."""
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    first, *others = whole.splitlines() or [b""]
    try:
        made_by = MadeBy.model_validate_json(first)
        lines = [Finished.model_validate_json(line) for line in others]
    except ValidationError as error:
        raise GlassformerError(
            f"{path} is damaged, or was written by a later glassformer; delete the folder, or name another `out=`"
        ) from error
    if len(whole) < len(raw):
        os.truncate(path, len(whole))
    return made_by, {line.shard: line for line in lines}


def _keep_list(path: Path, before: MadeBy, finished: Mapping[str, Finished]) -> None:
    """Write down answers that are to be replaced, beside those of an earlier `overwrite` that was stopped."""
    earlier = _read(path)[1] if path.is_file() else {}
    lines = (before, *{**earlier, **finished}.values())
    write_aside(path, "".join(f"{line.model_dump_json()}\n" for line in lines))


def answers_of(out: Path) -> dict[str, str]:
    """Return the checksum of each file of answers, as far as the manifest says. Nothing is written."""
    whole = (out / MANIFEST).read_bytes().rpartition(b"\n")[0].splitlines()[1:]
    try:
        lines = [Finished.model_validate_json(line) for line in whole]
    except ValidationError as error:
        raise GlassformerError(f"{out / MANIFEST} is damaged") from error
    return {line.answers: line.answers_sha256 for line in lines}


def _check_same(out: Path, before: MadeBy, now: MadeBy) -> None:
    columns = f"{quoted(before.text_column)}, and now it is {quoted(now.text_column)}"
    said = {
        "model": "holds the answers of another model;",
        "text_column": f"holds the answers to the column {columns};",
        "safe_csv": f"was begun {'with' if before.safe_csv else 'without'} safe CSV; do the same again, or",
        "encoding": "was begun with another `encoding=`, or without it; do the same again, or",
        "review_below": "was begun with another `automatic=`, or without it; do the same again, or",
    }
    for name, other in said.items():
        if getattr(before, name) != getattr(now, name):
            raise UsageError(f"{out} {other} name another `out=`, or add `overwrite=True` to delete these answers")


def _check_unchanged(out: Path, finished: Mapping[str, Finished], shards: Sequence[Path]) -> None:
    """Raise `UsageError` if a shard is not the one that was answered. Without its answers it is answered again."""
    known = [(shard, finished[shard.name]) for shard in shards if shard.name in finished]
    changed = [(shard, line) for shard, line in known if line.has_answers(out) and not line.is_of(shard)]
    if changed:
        shard, line = changed[0]
        others = f" (and {len(changed) - 1:,} more)" if changed[1:] else ""
        raise UsageError(
            f"{shard}{others} was changed after it was answered. Delete {out / line.answers} to answer it again, or "
            "add `overwrite=True` to begin again with all shards",
            [] if len(changed) == 1 else [str(other) for other, _ in changed],
        )
