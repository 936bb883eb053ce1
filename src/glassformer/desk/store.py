"""The texts, classes and decisions of a project, in one SQLite file. A decision is never deleted: it may be undone."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.files import make_private
from glassformer.desk.labelling import Renames, check_facts, labelling_of
from glassformer.desk.schema import (
    CHANGES,
    GIVEN,
    LAST_FIRST,
    OF_BATCH,
    VERSION,
    Decision,
    check_cells,
    check_kinds,
    use_own_views,
)
from glassformer.errors import UsageError

OF_TABLE = "table"
"""Who decided about the labels that the table brought."""

SETTLED = "text NOT IN (SELECT text FROM disputed)"
"""The condition that people do not give a text different labels, in SQL."""


class GoneError(sqlite3.OperationalError):
    """What is written would be lost."""


class Store:
    """The file of a project. Its methods may be called from any thread. Each change is on the disk when it returns.

    Attributes:
        labelling: the kind of labels that are given.

    Raises:
        UsageError: the file is none of a desk, or was written by a newer version.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._labelled: pl.DataFrame | None = None  # since the last change
        if not path.exists():
            with suppress(OSError):  # SQLite says why
                make_private(path)  # SQLite gives the files beside it the same permissions
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._path, self._opened = path, path.stat()
            self._connection.row_factory = sqlite3.Row
            self._connection.create_function("holds", 3, self._holds, deterministic=True)
            self._connection.create_function("is_among", 2, self._is_among)
            self._connection.create_function("distance", 2, self._distance)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if version < 0:
                raise sqlite3.DatabaseError(f"it has the version {version}")
            check_kinds(self._connection)
            if version < VERSION:
                with self.change() as change:
                    statements = "".join(CHANGES[each] for each in (range(version, VERSION) if version else (0,)))
                    for statement in filter(str.strip, statements.split(";")):
                        change.execute(statement)
                    change.execute(f"PRAGMA user_version = {VERSION}")
                    use_own_views(change)
                    check_facts(facts := self.facts)
                    self.labelling = labelling_of(facts)
                    add_to_classes(change, sorted(self._named("current")))  # labels that had been taken away are back
            if version > VERSION:
                raise UsageError(f"{path} was written by a newer version of glassformer; update glassformer")
            use_own_views(self._connection)
            check_cells(self._connection)
            check_facts(facts := self.facts)
            if not facts.get("table") and self.value("SELECT 1 FROM texts"):
                raise ValueError("it does not say which table its texts are of")
        except (sqlite3.DatabaseError, ValueError, RecursionError) as error:
            raise UsageError(f"{path} cannot be read as the labels of a desk: {error}; name another folder") from error
        self.labelling = labelling_of(facts)

    @staticmethod
    def _holds(text: str, beside: str | None, phrase: str) -> bool:
        """Whether a text, or a value beside it, holds a phrase, in any case."""
        values = [text, *(filter(None, json.loads(beside).values()) if beside else ())]
        return any(phrase in value.casefold() for value in values)

    def _is_among(self, label: str | None, name: str) -> bool:
        return label is not None and self.labelling.is_among(label, name)

    def _distance(self, label: str | None, answered: str | None) -> float | None:
        return None if label is None or answered is None else self.labelling.distance(label, answered)

    def close(self) -> None:
        """Write everything into the one file, and close it."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Do all of it, or nothing. A change within another one is a part of it."""
        with self._lock:
            is_part = self._connection.in_transaction
            if is_part:
                yield self._connection
                return
            self._check_there()
            self._connection.execute("BEGIN IMMEDIATE")
            self._labelled = None
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite ends it itself if the disk is full
                    self._connection.execute("ROLLBACK")
                raise

    def _check_there(self) -> None:
        """Raise `GoneError` if the file is another one by now: SQLite would write into the one that nobody finds."""
        try:
            if os.path.samestat(self._path.stat(), self._opened):
                return
        except OSError:
            pass
        raise GoneError(
            f"{self._path.name} was moved, deleted or replaced; put it back, or download the labels and open the desk "
            "again"
        )

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def value(self, query: str, *values: Any) -> Any:
        """Return the first value that a query finds, or None."""
        found = self.rows(query, *values)
        return found[0][0] if found else None

    @property
    def facts(self) -> dict[str, Any]:
        """What is known about the project by name: its table, its columns, its settings."""
        return {row["name"]: json.loads(row["value"]) for row in self.rows("SELECT * FROM facts")}

    def note(self, **facts: Any) -> None:
        values = ((name, json.dumps(value)) for name, value in facts.items())
        with self.change() as change:
            change.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", values)

    def check_unused(self) -> None:
        """Raise `UsageError` if another table, or other columns, would take away labels or a model that is trained."""
        if self.value("SELECT count(*) FROM decisions WHERE batch > 0"):
            raise UsageError("labels have been given already, so the columns stay; begin another project")
        if self.value("SELECT count(*) FROM rounds WHERE state = 'running'"):
            raise UsageError("a model is being trained from these columns; wait for it, or stop it at the step Train")

    @property
    def last_batch(self) -> int:
        """The number of the last batch of decisions (see `decide`) and new names, also if it was undone."""
        batches = "SELECT batch FROM decisions UNION ALL SELECT batch FROM renames"
        return int(self.value(f"SELECT coalesce(max(batch), 0) FROM ({batches})"))

    @property
    def classes(self) -> list[str]:
        return [row["name"] for row in self.rows("SELECT name FROM classes ORDER BY place")]

    def counts(self, where: str = "1") -> Counter[str]:
        """Return how many texts have each class. `where`: a condition on them, in SQL."""
        found = Counter[str]()
        query = f"SELECT label, count(*) AS texts FROM current WHERE kind = 'label' AND {where} GROUP BY label"
        for row in self.rows(query):
            found.update(dict.fromkeys(self.labelling.classes_of(row["label"]), row["texts"]))
        return found

    def decide(self, *decisions: Decision) -> int:
        """Keep decisions, and what the model said about each text. A new label becomes a class.

        Returns:
            The number of the batch, by which all of them can be undone.
        """
        with self.change() as change:
            batch, at = self.last_batch + 1, now()
            change.executemany(
                "INSERT INTO decisions (text, kind, label, note, who, at, batch, way, shown, giver, stands, round, "
                "suggested, probability) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, s.round, s.label, s.probability "
                "FROM (SELECT 1) LEFT JOIN suggestions s ON s.text = ?",
                (
                    (text, decision.kind, decision.label, decision.note, decision.who, at, batch, decision.way,
                     decision.shown, decision.giver, decision.stands, text)
                    for decision in decisions for text in decision.texts
                ),
            )  # fmt: skip
            look_up(change, OF_BATCH, batch)
            for label in {decision.label for decision in decisions if decision.label is not None}:
                add_to_classes(change, self.labelling.classes_of(label))
            return batch

    def repeats(self, texts: Sequence[int]) -> list[int]:
        """Return the other rows with the same text and the same values beside it, if the table still has them."""
        found = self.rows(
            f"SELECT id FROM texts WHERE same IN (SELECT same FROM texts WHERE id IN {GIVEN}) AND id NOT IN {GIVEN} "
            "AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.id = decision AND d.kind = 'drop' AND d.batch = 0) "
            "ORDER BY id",
            json.dumps([*texts]),
        )
        return [row["id"] for row in found]

    def undo(self, who: str) -> list[int]:
        """Undo the last decision of a person, or new name, and return its texts. They have the label of before again.

        A class that only this decision named, and nobody added by hand, is gone again.
        """
        with self.change() as change:
            own = "SELECT batch FROM decisions WHERE coalesce(giver, who) = ?1 AND undone IS NULL AND batch > 0"
            batch = self.value(
                f"SELECT max(batch) FROM ({own} UNION ALL SELECT batch FROM renames WHERE who = ?1)", who
            )
            if batch is None:
                return []
            found = change.execute("SELECT DISTINCT text FROM decisions WHERE batch = ?", (batch,)).fetchall()
            change.execute(
                "UPDATE decisions SET undone = ?1 WHERE undone IS NULL AND (batch = ?2 OR stands IN "
                "(SELECT id FROM decisions WHERE batch = ?2))",  # so another name of its class ends with a label
                (now(), batch),
            )
            look_up(change, OF_BATCH, batch)
            leave_out_gone(change, OF_BATCH, batch)
            self._undo_classes(change, batch)
            return [row["text"] for row in found]

    def _undo_classes(self, change: sqlite3.Connection, batch: int) -> None:
        """Bring back the classes that a batch renamed or joined, each to its place, and forget those that it named."""
        named = self._named("decisions", "undone IS NULL")
        gone = self._named("decisions", "batch = ?", batch) - named - {*self.added}
        there, names = self._named("current") | self._named("opinions"), self.classes
        renamed = self.rows("SELECT * FROM renames WHERE batch = ? AND place IS NOT NULL", batch)
        for row in renamed:
            of_no_texts = row["who"] is not None
            if of_no_texts and row["is_new"]:
                gone |= {row["became"]} - named
            if row["name"] not in names and (of_no_texts or row["name"] in there):
                is_new = row["became"] in gone & {*names}
                names.insert(names.index(row["became"]) if is_new else row["place"], row["name"])
            change.execute("DELETE FROM renames WHERE id = ?", (row["id"],))
            if row["became"] in gone:  # a model may have learned the name
                self.keep_rename(row["became"], row["name"], batch=self.last_batch + 1)
        self.put_classes([name for name in [*names, *sorted(there - {*names})] if name not in gone])
        if renamed:
            self.note(added=[name for name in self.added if name not in gone])
            self.name_suggestions()

    def _named(self, among: str, where: str = "1", *values: Any) -> set[str]:
        cells = self.rows(f"SELECT DISTINCT label FROM {among} WHERE kind = 'label' AND {where}", *values)
        return {name for row in cells for name in self.labelling.classes_of(row["label"])}

    @property
    def added(self) -> list[str]:
        """The classes that were added by hand. They stay if a label of theirs is undone."""
        return list(self.facts.get("added", []))

    def put_classes(self, names: Sequence[str]) -> None:
        """Put classes in this order in the place of those that there are."""
        with self.change() as change:
            change.execute("DELETE FROM classes")
            add_to_classes(change, names)

    def keep_rename(self, name: str, became: str, **more: Any) -> None:
        """Remember that a class has another name. `more`: see `renames` in the schema."""
        values = {"name": name, "became": became, **more}
        with self.change() as change:
            named = ", ".join(f":{each}" for each in values)
            change.execute(f"INSERT INTO renames ({', '.join(values)}) VALUES ({named})", values)

    @property
    def renames(self) -> Renames:
        """What classes were called later."""
        rows = self.rows("SELECT batch, name, became FROM renames ORDER BY batch, id")
        return Renames([tuple(row) for row in rows], self.labelling)

    def name_suggestions(self) -> None:
        """Give the suggestions, and the answers to texts with a label, the present names of their classes."""
        renames = self.renames
        for table, column in (("suggestions", "label"), ("unseen", "answered")):
            of_round = f"SELECT json_extract(record, '$.batch') FROM rounds WHERE number = (SELECT round FROM {table})"
            learned = self.value(of_round) or 0
            with self.change() as change:
                change.create_function("present", 1, lambda said, learned=learned: renames.present(said, learned))
                change.execute(f"UPDATE {table} SET {column} = present(said) WHERE {column} <> present(said)")

    def labelled(self) -> pl.DataFrame:
        """Return the texts that have a label: the columns id, row, text, beside, label and way, as they came.

        Texts with different labels of several people are left out until somebody settles them.
        """
        with self._lock:
            if self._labelled is not None and not self._connection.in_transaction:
                return self._labelled
            cursor = self._connection.cursor()
            cursor.row_factory = None
            cursor.execute(
                "SELECT t.id, t.row, t.text, t.beside, c.label, c.way FROM current c JOIN texts t ON t.id = c.text "
                f"WHERE c.kind = 'label' AND c.{SETTLED} ORDER BY t.id"
            )
            numbers, words = ("id", "row"), ("text", "beside", "label", "way")
            schema = dict.fromkeys(numbers, pl.Int64()) | dict.fromkeys(words, pl.String())
            found = pl.DataFrame(cursor.fetchall(), schema=schema, orient="row")
            self._labelled = None if self._connection.in_transaction else found
            return found

    def unlabelled(self) -> pl.DataFrame:
        """Return the texts about which nobody has decided: id, text, beside and draw, in their random order."""
        found = self.rows("SELECT id, text, beside, draw FROM texts WHERE decision IS NULL ORDER BY draw")
        schema = {"id": pl.Int64, "text": pl.String, "beside": pl.String, "draw": pl.Float64}
        return pl.DataFrame([tuple(row) for row in found], schema=schema, orient="row")

    def left(self) -> int:
        return int(self.value("SELECT count(*) FROM texts WHERE decision IS NULL"))

    def suggest(self, suggestions: pl.DataFrame, *, number: int) -> None:
        """Put what the model of a round says in the place of what the one before said.

        Args:
            suggestions: the columns id, label, probability, and place: which texts are most worth labelling, from 0, or
                null.
        """
        with self.change() as change:
            change.execute("DELETE FROM suggestions")
            columns = suggestions.select("id", "label", "probability", "place", pl.lit(number), said="label")
            change.executemany("INSERT INTO suggestions VALUES (?, ?, ?, ?, ?, ?)", columns.iter_rows())
            self.name_suggestions()

    def keep_unseen(self, answers: pl.DataFrame, *, number: int) -> None:
        """Put what the model of a round answered to texts that it had not learned in the place of what was kept.

        Args:
            answers: the columns id, answered and probability.
        """
        with self.change() as change:
            change.execute("DELETE FROM unseen")
            columns = answers.select("id", "answered", "probability", pl.lit(number), said="answered")
            change.executemany("INSERT INTO unseen VALUES (?, ?, ?, ?, ?)", columns.iter_rows())
            self.name_suggestions()

    def write_round(self, number: int, state: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a round of training, in the place of what was known of it."""
        with self.change() as change:
            values = (number, state, json.dumps(record))
            change.execute("INSERT OR REPLACE INTO rounds VALUES (?, ?, ?)", values)

    def rounds(self) -> list[dict[str, Any]]:
        """Return the records of all rounds, oldest first."""
        found = self.rows("SELECT * FROM rounds ORDER BY number")
        return [{"number": row["number"], "state": row["state"], **json.loads(row["record"])} for row in found]


def look_up(change: sqlite3.Connection, among: str, value: int | str) -> None:
    """Find the decision that holds about each of some texts anew. `among`: these, in SQL with a value."""
    holds = f"SELECT id FROM decisions WHERE text = texts.id AND undone IS NULL {LAST_FIRST}"
    change.execute(f"UPDATE texts SET decision = ({holds}) WHERE id IN {among}", (value,))


def leave_out_gone(change: sqlite3.Connection, among: str, value: int) -> None:
    """Leave out those of some texts that are gone from the table, unless a person has decided about them."""
    gone = (
        "SELECT t.id FROM texts t LEFT JOIN decisions d ON d.id = t.decision WHERE t.row IS NULL AND coalesce(d.way, "
        f"'table') = 'table' AND t.id IN {among}"
    )
    texts = json.dumps([row["id"] for row in change.execute(gone, (value,)).fetchall()])
    change.execute(
        f"UPDATE decisions SET undone = ?2 WHERE way = 'table' AND undone IS NULL AND text IN {GIVEN}", (texts, now())
    )
    change.execute(
        "INSERT INTO decisions (text, kind, note, who, at, batch, way, shown) SELECT value, 'drop', '', ?2, ?3, 0, "
        "'table', 0 FROM json_each(?1)",
        (texts, OF_TABLE, now()),
    )
    look_up(change, GIVEN, texts)


def add_to_classes(change: sqlite3.Connection, names: Sequence[str]) -> None:
    """Add those that there are not yet, behind all others."""
    change.executemany(
        "INSERT OR IGNORE INTO classes SELECT ?, coalesce(max(place), -1) + 1 FROM classes", [(name,) for name in names]
    )


def now() -> str:
    """Return the time, as decisions keep it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
