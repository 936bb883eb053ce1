"""A project: a folder with the table, what people decided, and the models that were trained from it."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.column_kinds import is_opaque
from glassformer.data.columns import Wanted, listing
from glassformer.data.encodings import named_encoding, reading_as
from glassformer.data.files import check_link, check_no_links, write_aside, written_aside
from glassformer.data.input_columns import check_inputs
from glassformer.data.locks import LOCK_FILE
from glassformer.data.rows import ROWS_PER_BATCH, batches_of, cells_of, check_columns, check_file
from glassformer.data.shards import files_of
from glassformer.data.sources import Task
from glassformer.data.table import first_rows
from glassformer.desk.filling import fill
from glassformer.desk.inputs_read import InputsRead, unused
from glassformer.desk.labelling import labelling_of
from glassformer.desk.rules import usable
from glassformer.desk.store import Store
from glassformer.desk.table_read import columns_of, copied, kind_of, texts_of
from glassformer.errors import GlassformerError, UsageError, quoted
from glassformer.prediction.answer_files import ending_like, table_file, written_like
from glassformer.readers.rules.reader import RULES_FILE
from glassformer.targets.tasks import LEVELS

LABELS_FILE, DECISIONS_FILE = "labels.csv", "decisions.csv"
"""The texts that have a label, as the next round of training reads them, and every decision (see `Project.export`)."""

_NO_TEXTS = pl.DataFrame(schema={"id": pl.Int64, "text": pl.String, "beside": pl.String, "label": pl.String})
STORE_FILE, _TABLES, _MODELS = "desk.sqlite", "tables", "models"
_UNCLEAR = "it is not clear which columns hold the texts and the labels: choose them here"


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project that is open. `store` holds everything but the table and the models.

    Facts of the store: `table` (its file name), `text` and `label` (its columns; `label` is null if there is none),
    `lower` (the columns of the levels below that of the label), `other_texts` and `columns` (see `InputsRead`),
    `task`, `separator` and `levels` (see `labelling_of`),
    `found` (sentences about the table), and `doubts` (labels that the last check doubts: id, label, suggested, why;
    and `other` and `other_label` if another text contradicts it).
    """

    folder: Path
    store: Store

    @classmethod
    def open(cls, folder: Path) -> Project:
        """Open the project in a folder, or begin one.

        Raises:
            UsageError: the folder is a file, holds something else, or nothing can be written there.
        """
        if folder.is_file():
            raise UsageError(f"{folder} is a file; name a folder for the project")
        names = [path.name for path in folder.iterdir() if path.name != LOCK_FILE] if folder.is_dir() else []
        if names and STORE_FILE not in names:
            raise UsageError(
                f"{folder} holds {quoted(names[0])} and no project of a desk; name an empty or a new folder"
            )
        check_link(folder / STORE_FILE)
        for name in (_TABLES, _MODELS):
            check_no_links(folder / name, to_files=True)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)  # it holds texts
            (folder / _TABLES).mkdir(exist_ok=True)
            (folder / _MODELS).mkdir(exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error.strerror}; name another folder") from error
        return cls(folder=folder, store=Store(folder / STORE_FILE))

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, table: Path | None) -> Iterator[Project]:
        """Open a project until the end of the `with` block. A new one takes the table.

        Raises:
            UsageError: see `open` and `take`. A new project without a table is gone again at the end.
            GlassformerError: the file of the labels is damaged in a place that is only read later.
        """
        is_new = not (folder / STORE_FILE).exists()
        project = cls.open(folder)
        try:
            if table is not None and project.table is None:
                project.take(table)
            yield project
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):  # a bug
            raise
        except sqlite3.DatabaseError as error:
            raise GlassformerError(
                f"{folder / STORE_FILE} cannot be read or written: {error}; free some space, or put back an older copy"
            ) from error
        finally:
            is_unused = is_new and project.table is None
            project.store.close()
            if is_unused:
                for path in folder.glob(f"{STORE_FILE}*"):
                    path.unlink()
                for name in (_TABLES, _MODELS):
                    shutil.rmtree(folder / name)

    @property
    def table(self) -> Path | None:
        """The project's copy of the table. None if none has been chosen."""
        name = self.store.facts.get("table")
        return None if name is None else self.folder / _TABLES / name

    def model(self, number: int) -> Path:
        return self.folder / _MODELS / f"round-{number:04}"

    @property
    def has_decisions(self) -> bool:
        """Whether a person has decided something."""
        return bool(self.store.value("SELECT count(*) FROM decisions WHERE batch > 0"))

    def take(self, path: Path) -> None:
        """Copy a table, or a folder that is one, into the project, and read it with the columns that are found.

        If it cannot be read so, there are no texts yet, and `found` says why.

        Raises:
            UsageError: it cannot be read, or people have decided about another one already.
        """
        if self.has_decisions:
            raise UsageError(
                f"{self.folder} holds labels of {self.store.facts['table']}; name another folder for another table"
            )
        file = path.resolve() if path.is_dir() else check_file(path)
        first_rows(path)  # it can be read at all
        check_columns(files_of(path))
        copy = self.folder / _TABLES / file.name
        if file.resolve() != copy.resolve():
            with copied(file, copy):
                self.store.check_unused()
        part = "" if path.is_dir() else str(path).removeprefix(str(file))  # which is read of the file
        self._fill(_NO_TEXTS, {"table": file.name + part, "encoding": named_encoding()})
        for other in (self.folder / _TABLES).iterdir():
            if other != copy:
                shutil.rmtree(other) if other.is_dir() else other.unlink()
        try:
            self.read()
        except UsageError as error:
            self.store.note(found=[_UNCLEAR if error.listing else error.message])

    def read(
        self,
        *,
        text: str | None = None,
        label: str | None = None,
        without_labels: bool = False,
        task: Task | None = None,
        levels: str | None = None,
        lower: Sequence[str] = (),
        other_texts: Sequence[str] = (),
        columns: Sequence[str] = (),
    ) -> None:
        """Read the texts and labels of the table.

        Args:
            text, label: columns. By default they are found.
            without_labels: there is no column of labels, or it is not read.
            task, levels: the kind of labels, and what separates the levels of one. By default they are found too.
            lower: the columns of the levels below that of the label.
            other_texts, columns: columns of further texts, and columns of categories or numbers beside them.

        Raises:
            UsageError: a column holds no text, it is not clear which one does, or people have decided already.
        """
        table, name = self.table, self.store.facts["table"]  # of an archive, the name may hold slashes
        assert table is not None
        self.store.check_unused()
        notes: list[str] = []
        with self.reading():
            batches = batches_of(files_of(table, notes.append), rows_per_batch=ROWS_PER_BATCH, on_note=notes.append)
            first = next(batches)
            wanted: Wanted = {
                "text": text, "label": label, "lower": lower, "other_texts": other_texts, "beside": columns,
            }  # fmt: skip
            found_text, found_label, said = columns_of(first, name, wanted, without_labels=without_labels)
            facts: dict[str, Any] = {"table": name, "text": found_text, "label": found_label, "lower": list(lower)}
            facts |= {"other_texts": list(other_texts), "columns": list(columns), "encoding": named_encoding()}
            facts |= kind_of(str(table), facts, task, levels or (LEVELS[0] if lower else None))
            check_inputs((found_text, *other_texts), columns, label=found_label)
            texts, of_texts = texts_of(itertools.chain([first], batches), facts)
        labelling, kept = labelling_of(facts), self.store.facts.get("rules")
        if kept and (labelling.task, labelling.levels) == (self.store.labelling.task, self.store.labelling.levels):
            facts["rules"] = kept
        self._fill(texts, facts | {"found": [*notes, *said, *of_texts]})

    def _fill(self, texts: pl.DataFrame, facts: Mapping[str, Any]) -> None:
        """See `fill`. Models of other texts go too."""
        fill(self.store, texts, facts)
        for folder in (self.folder / _MODELS).iterdir():
            shutil.rmtree(folder, ignore_errors=True)

    def columns(self) -> list[dict[str, Any]]:
        assert self.table is not None
        with self.reading():
            first = first_rows(self.table)
        return [{"name": name, "shown": listing(first, [name])[0].strip()} for name in first.columns]

    def reading(self) -> AbstractContextManager[None]:
        """Let the table be read in the encoding that was named when the desk took it."""
        return reading_as(named_encoding() or self.store.facts.get("encoding"))

    def write_labels(self) -> Path:
        """Write the labelled rows with all columns of the table, and return the path of the file.

        A spreadsheet shows it rightly, and runs nothing of it.
        """
        assert self.table is not None
        path = self.folder / f"all-labels{ending_like(self.table)}"
        with written_aside(path) as aside, table_file(aside, path) as rows:
            with self.reading():
                like = replace(written_like(self.table), mark=True)
            rows(like, safe=True)(self._labelled_rows())
        return path

    def _labelled_rows(self) -> pl.DataFrame:
        """Of rows that are gone from the table, only what the project read of them is known."""
        assert self.table is not None
        facts, labelled = self.store.facts, self.store.labelled()
        with self.reading():
            names = [name for name, dtype in first_rows(self.table).schema.items() if not is_opaque(dtype)]
            found = labelled["row"].drop_nulls()
            cells = cells_of(files_of(self.table), found, {str(place): name for place, name in enumerate(names)})
        label, lower = facts["label"] or unused("label", names), facts.get("lower", ())
        given = labelled["label"].str.splitn(facts["levels"], 1 + len(lower)).struct.unnest() if lower else None
        given = labelled.select("label") if given is None else given.fill_null("")
        rows = labelled.select("row").join(cells, on="row", how="left", maintain_order="left").drop("row")
        rows = rows.rename(dict(zip(map(str, range(len(names))), names, strict=True)))
        read = self._as_table(labelled)
        rows = rows.with_columns(pl.coalesce(name, read[name]) for name in InputsRead.of(facts).names)
        return rows.with_columns(given.rename(dict(zip(given.columns, (label, *lower), strict=True))))

    def export(self, folder: Path) -> list[Path]:
        """Write the labels and every decision as tables whose versions can be compared, and return their paths.

        Decisions stand in their order, also those that were undone: who decided what about which text and when, and
        what the model of which round had suggested. The row of a text that is gone from the table is null. If there are
        rules, they are written too.

        Raises:
            UsageError: the project has no table, or the folder cannot be written to or holds another file of a name.
        """
        if self.table is None:
            raise UsageError(f"{self.folder} holds no labels yet; name the folder of a project")
        check_link(folder)
        decisions, rules = folder / DECISIONS_FILE, self.store.facts.get("rules", "")
        names = [LABELS_FILE, *([RULES_FILE] if rules else [])]
        of_others = not decisions.is_file() and folder.resolve() != self.folder.resolve()
        if of_others and (path := next(filter(Path.exists, map(folder.joinpath, names)), None)):
            raise UsageError(f"{path} is there already, and no earlier export wrote it; name another folder")
        decided, labelled = self._decisions(), self.store.labelled()  # before anything is written
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with written_aside(decisions) as aside:
                decided.write_csv(aside)
            written = [self._write(labelled, folder / LABELS_FILE), decisions]
            if rules:
                write_aside(folder / RULES_FILE, f"{rules}\n")
                written.append(folder / RULES_FILE)
            return written
        except OSError as error:
            raise UsageError(f"{folder} cannot be written to: {error.strerror}; name another folder") from error

    def _decisions(self) -> pl.DataFrame:
        kept = (
            *(
                "d.id",
                "d.kind",
                "d.label",
                "d.note",
                "d.who",
                "d.at",
                "d.way",
                "d.round",
                "d.suggested",
                "d.probability",
            ),
            *("d.shown", "d.undone", "d.giver", "d.stands", "t.row", "t.text"),
        )
        rows = self.store.rows(f"SELECT {', '.join(kept)} FROM decisions d JOIN texts t ON t.id = d.text ORDER BY d.id")
        names = [name[2:] for name in kept]
        return pl.DataFrame(list(map(tuple, rows)), schema=names, orient="row", infer_schema_length=None)

    def lesson(self) -> pl.DataFrame:
        """Return the labelled texts that a model can learn from."""
        return self.store.labelling.lesson(self.store.labelled())

    def settings(self) -> Mapping[str, Any]:
        """Return the settings by which the next round reads them."""
        return {**self.store.labelling.settings(self._learned()), **InputsRead.of(self.store.facts).settings}

    def _learned(self) -> list[str]:
        cells, classes_of = self.lesson()["label"].unique(), self.store.labelling.classes_of
        learned = {name for cell in cells for name in classes_of(cell)}
        return [name for name in self.store.classes if name in learned]

    def rules(self) -> tuple[str, list[str]]:
        """Return the rules that the next round reads, and why it does not read the others (see `usable`)."""
        kept = self.store.facts.get("rules", "")
        return usable(kept, self.store.labelling, self._learned()) if kept else ("", [])

    def write_lesson(self) -> pl.DataFrame:
        """Write them as the table that the next round reads, with its rules if there are some, and return them."""
        lesson = self.lesson()
        if rules := self.rules()[0]:
            write_aside(self.folder / RULES_FILE, f"{rules}\n")
        self._write(lesson, self.folder / LABELS_FILE)
        return lesson

    def _write(self, labelled: pl.DataFrame, path: Path) -> Path:
        with written_aside(path) as aside:
            self._as_table(labelled).write_csv(aside)
        return path

    def _as_table(self, labelled: pl.DataFrame) -> pl.DataFrame:
        return InputsRead.of(self.store.facts).as_table(labelled.select("text", "beside", "label", "way", "id"))
