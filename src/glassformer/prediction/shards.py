"""Answer all shards of a folder. Each gives one file of answers, which is complete or not there.

```
shards/a.parquet ─┐                ┌─► answers/.a.parquet.writing-… ─► answers/a.parquet, and a line of the manifest
shards/b.parquet ─┼─► an engine ───┤
shards/c.parquet ─┘                └─► …
```

An *engine* answers shards and writes the answers aside: one process does, or the workers of Ray (`on_ray.py`). This
module alone renames the files and writes the manifest. So an engine may answer a shard twice, or a part of it and then
be killed: each row still has exactly one answer.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.checksums import sha256_of
from glassformer.data.encodings import reading_as
from glassformer.data.files import (
    ASIDE,
    LONGEST_NAME,
    aside_of,
    beyond_locale,
    make_private,
    name_as_text,
    why_not_written,
)
from glassformer.data.formats.all_formats import FORMATS, format_of
from glassformer.data.formats.archive import is_archive
from glassformer.data.formats.compressions import is_compressed
from glassformer.data.formats.format import Delimited
from glassformer.data.lines import OnNote
from glassformer.data.locks import only_writer
from glassformer.data.rows import check_file, encodings_of, iterate_rows, unchanged
from glassformer.data.shards import shards_in
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, UsageError, quoted
from glassformer.prediction.answer_files import answer_file
from glassformer.prediction.answering import Answering
from glassformer.prediction.frames import text_reader
from glassformer.prediction.shard_manifest import Finished, MadeBy, Manifest, model_sha256
from glassformer.targets.answers import Answers

ROWS_PER_BATCH = 4096


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be done with each shard.

    Attributes:
        text_column: the column of the texts. A shard may spell it with other capitals, spaces and underscores.
        safe_csv: write cells that a spreadsheet could run as a formula as text.
        encoding: of the shards, as `encoding=` says. None: it is found.
    """

    model: Path
    out: Path
    text_column: str
    safe_csv: bool = False
    device: str = "cpu"
    review_below: float | None = None
    encoding: str | None = None

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked of the answers (see `Target.answers`)."""
        return {} if self.review_below is None else {"review_below": self.review_below}


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A shard whose answers are complete, but not under their name yet."""

    aside: Path
    line: Finished


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """A shard that could not be answered, and why."""

    shard: str
    error: GlassformerError


Outcome = Answered | Unanswered
OnRows = Callable[[int], None]
Encodings = Mapping[Path, str | None]
"""Shards, each with its encoding as all of the folder tell it. None: it is UTF-8, no text, or tells no encoding."""
Engine = Callable[[Job, Encodings, OnRows], Generator[Outcome, None, None]]
"""Answers shards in any order. The function is called with the number of rows that were just answered, before the shard
is finished, if the engine knows it. Closing the iterator ends all work."""


@dataclass
class Progress:
    """How far the work is.

    Attributes:
        finished: how many of them are finished, those of earlier runs included.
        rows: answered in this run.
        rows_left: about how many rows are left, judged by the size of the files. None before the first finished shard.
    """

    shards: int
    finished: int
    rows: int = 0
    rows_left: int | None = None


@dataclass(kw_only=True)
class Counts:
    """Counts over answers: see `Finished`."""

    rows: int = 0
    empty: int = 0
    unlike: int = 0
    needs_review: int = 0
    predictions: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, answers: Answers) -> Counts:
        review = None if answers.needs_review is None else answers.needs_review & ~answers.empty
        marked = {"empty": answers.empty, "unlike": answers.unlike, "needs_review": review}
        numbers = {name: 0 if which is None else int(which.sum()) for name, which in marked.items()}
        return cls(rows=len(answers.empty), predictions=answers.counts(), **numbers)

    def add(self, more: Counts | Finished) -> None:
        for name in ("rows", "empty", "unlike", "needs_review"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        self.predictions.update(more.predictions)


@dataclass(kw_only=True)
class Bulk(Counts):
    """The result over all shards of the folder, those of earlier runs included.

    Attributes:
        earlier: how many shards were finished by earlier runs.
        gone: shards that were answered and are no longer in the folder.
        unanswered: shards that could not be answered.
        keeps_replaced: whether answers that `overwrite` is to replace are still there.
    """

    shards: int
    earlier: int
    gone: list[str]
    unanswered: list[Unanswered] = field(default_factory=list)
    keeps_replaced: bool = False

    def check(self) -> None:
        """Raise an error that names the shards without answers, if there are any.

        Raises:
            UsageError: a shard cannot be read, or has no column of texts.
            GlassformerError: workers were lost over a shard.
        """
        if not self.unanswered:
            return
        bad = any(isinstance(each.error, UsageError) for each in self.unanswered)
        kept = " Answers from before `overwrite=True` are still there." if self.keeps_replaced else ""
        raise (UsageError if bad else GlassformerError)(
            f"{counted(len(self.unanswered), 'shard has', 'shards have')} no answers, of {self.shards:,}; the others "
            f"are finished.{kept} Correct or remove these, and run the same command again:",
            [
                line
                for each in sorted(self.unanswered, key=lambda each: each.shard)
                for line in (f"  {each.shard}: {each.error.message}", *each.error.typed)
            ],
        )


def answer_folder(
    job: Job,
    shards: Path,
    *,
    engine: Engine,
    overwrite: bool,
    on_progress: Callable[[Progress], None],
    on_note: OnNote | None = None,
) -> Bulk:
    """Answer the shards of a folder that have no answers yet. `on_note` is called with what was found.

    A run that was stopped or killed is continued by the next one, with any engine.

    Raises:
        UsageError: see `shards_in`, `only_writer` and `Manifest.begin`; the answers to two shards would have the same
            name; the folder of the answers lies in that of the shards.
        GlassformerError: nothing can be written, or the manifest is damaged.
    """
    if job.out.resolve().is_relative_to(shards.resolve()):
        raise UsageError(f"`out={str(job.out)!r}` lies in {shards}, whose files are read; name another folder")
    files = shards_in(shards, on_note)
    _check_names(files)
    made_by = MadeBy(
        model=model_sha256(job.model),
        text_column=job.text_column,
        safe_csv=job.safe_csv,
        review_below=job.review_below,
        encoding=job.encoding,
    )
    with only_writer(job.out):
        names = {path.name: answers_name(path) for path in files}
        manifest = Manifest.begin(job.out, made_by, files, overwrite=overwrite)
        manifest.check_not_replaced(names)
        _remove_unfinished(job.out)
        try:
            return _answer_waiting(job, files, manifest, engine, on_progress, on_note)
        finally:
            _remove_unfinished(job.out)


def in_this_process(predictor: Answering) -> Engine:
    """Return the engine that answers one shard after another."""

    def answered(job: Job, shards: Encodings, on_rows: OnRows) -> Generator[Outcome, None, None]:
        for shard, encoding in shards.items():
            yield answer_shard(predictor, job, shard, encoding, on_rows)

    return answered


def answer_shard(predictor: Answering, job: Job, shard: Path, encoding: str | None, on_rows: OnRows) -> Outcome:
    """Answer a shard, and write its answers aside. `encoding` is that of `Encodings`.

    Raises:
        GlassformerError: nothing can be written.
    """
    name = answers_name(shard)
    aside = aside_of(job.out / name)
    try:
        make_private(aside)
        with unchanged(check_file(shard)):
            before = shard.stat()
            with reading_as(job.encoding):  # a worker of Ray does not know it otherwise
                counts = _write_answers(predictor, job, shard, aside, encoding, on_rows)
            sha256 = sha256_of([shard])
        line = Finished(
            shard=shard.name,
            size=before.st_size,
            modified_ns=before.st_mtime_ns,
            sha256=sha256,
            answers=name,
            answers_size=aside.stat().st_size,
            answers_sha256=sha256_of([aside]),
            **vars(counts),
        )
    except UsageError as error:
        aside.unlink(missing_ok=True)
        return Unanswered(shard=shard.name, error=error)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise GlassformerError(why_not_written(job.out, error, 0)) from error
    return Answered(aside=aside, line=line)


def answers_name(shard: Path) -> str:
    """Return the name of the file with the answers: that of the shard, of the same kind, and with .gz if compressed."""
    compressed = is_compressed(shard) or is_archive(shard)
    inner = shard.with_suffix("") if compressed else shard
    kind = format_of(shard)
    stem = inner.stem if inner.suffix.lower() in FORMATS else inner.name
    return f"{stem}{kind.written or kind.extensions[0]}{'.gz' if compressed else ''}"


def _answer_waiting(
    job: Job,
    files: Sequence[Path],
    manifest: Manifest,
    engine: Engine,
    on_progress: Callable[[Progress], None],
    on_note: OnNote | None,
) -> Bulk:
    names = {path.name for path in files}
    waiting = [path for path in files if path.name not in manifest.finished]
    bulk = Bulk(
        shards=len(files),
        earlier=len(files) - len(waiting),
        gone=sorted(name for name in manifest.finished if name not in names),
    )
    pace = _Pace(files, manifest, on_progress)
    if waiting:
        encoding_of = encodings_of(files, on_note)  # those with answers tell it too
        with closing(engine(job, {path: encoding_of(path) for path in waiting}, pace.more_rows)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, Answered):
                    outcome.aside.replace(job.out / outcome.line.answers)
                    manifest.add(outcome.line)
                else:
                    bulk.unanswered.append(outcome)
                pace.shard_done(outcome)
    if not bulk.unanswered:
        manifest.remove_replaced()
    bulk.keeps_replaced = manifest.keeps_replaced
    for name in names & manifest.finished.keys():
        bulk.add(manifest.finished[name])
    return bulk


class _Pace:
    """Tells how far the work is, by the rows and the sizes of the finished shards."""

    def __init__(self, files: Sequence[Path], manifest: Manifest, on_progress: Callable[[Progress], None]) -> None:
        self._on_progress = on_progress
        self._sizes = {path.name: path.stat().st_size for path in files if path.name not in manifest.finished}
        known = [manifest.finished[path.name] for path in files if path.name in manifest.finished]
        self._rows, self._size = sum(line.rows for line in known), sum(line.size for line in known)
        self._size_left = sum(self._sizes.values())
        self._rows_early = 0  # of shards that are not finished
        self._progress = Progress(shards=len(files), finished=len(known))

    def more_rows(self, rows: int) -> None:
        self._rows_early += rows
        self._tell(rows)

    def shard_done(self, outcome: Outcome) -> None:
        new = 0
        if isinstance(outcome, Answered):
            new = max(0, outcome.line.rows - self._rows_early)
            self._rows, self._size = self._rows + outcome.line.rows, self._size + outcome.line.size
            self._progress.finished += 1
        self._rows_early = 0
        self._size_left -= self._sizes[outcome.line.shard if isinstance(outcome, Answered) else outcome.shard]
        self._tell(new)

    def _tell(self, rows: int) -> None:
        self._progress.rows += rows
        if self._size:
            self._progress.rows_left = max(0, round(self._size_left * self._rows / self._size) - self._rows_early)
        self._on_progress(self._progress)


def _write_answers(
    predictor: Answering, job: Job, shard: Path, aside: Path, encoding: str | None, on_rows: OnRows
) -> Counts:
    """Write the answers to a shard to the file `aside`.

    Raises:
        UsageError: the shard cannot be read, has no column of texts, or columns that cannot be written.
    """
    read_as: list[Delimited] = []
    frames = iterate_rows(shard, rows_per_batch=ROWS_PER_BATCH, on_delimited=read_as.append, fallback=lambda: encoding)
    first = next(frames)
    texts_of = text_reader(predictor, first, job.text_column, shard.name)
    like = replace(read_as[0] if read_as else Delimited(), decimal_comma=False)  # all shards alike
    counts = Counts()
    name = Path(answers_name(shard))
    with answer_file(aside, name=name, table=shard, like=like, safe=job.safe_csv) as write:
        for frame in itertools.chain([first], frames):
            answers = predictor.answer(texts_of(frame), **job.asked)
            write(frame, answers)
            counts.add(Counts.of(answers))
            on_rows(frame.height)
    return counts


def _check_names(files: Sequence[Path]) -> None:
    by_name: dict[str, Path] = {}
    for path in files:
        other = by_name.setdefault(answers_name(path), path)
        if other is not path:
            raise UsageError(
                f"the answers to {other} and {path} would both be named {answers_name(path)}; rename one of them"
            )
        if (named := name_as_text(path.name)) != path.name:  # the list of answers holds names as text
            raise UsageError(f"the name {quoted(named)} in {path.parent} {beyond_locale()}")
        if len(os.fsencode(answers_name(path))) > LONGEST_NAME:
            raise UsageError(f"the name {quoted(path.name)} in {path.parent} is too long for its answers; shorten it")


def _remove_unfinished(out: Path) -> None:
    """Remove what a stopped run, or a killed worker, was writing."""
    for path in out.glob(f".*{ASIDE}*"):
        path.unlink(missing_ok=True)
