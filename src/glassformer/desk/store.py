"""The texts, classes and decisions of a project, in one SQLite file. A decision is never deleted: it may be undone."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import polars as pl

from glassformer.errors import UsageError

Kind = Literal["label", "skip", "unsure", "drop"]
"""What a person decided: a label, not now, a doubt that the model does not learn from, or to leave the text out."""

OF_TABLE = "table"
"""Who decided about the labels that the table brought."""

_VERSION = 1
# `texts.decision` is the last decision about a text that is not undone. It could be looked up each time, but that takes
# seconds with 50,000 texts.
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL, draw REAL NOT NULL, decision INTEGER);
CREATE INDEX open_texts ON texts (draw) WHERE decision IS NULL;
CREATE TABLE classes (name TEXT PRIMARY KEY, place INTEGER NOT NULL);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY, text INTEGER NOT NULL REFERENCES texts, kind TEXT NOT NULL, label TEXT,
    note TEXT NOT NULL, who TEXT NOT NULL, at TEXT NOT NULL, batch INTEGER NOT NULL, way TEXT NOT NULL,
    round INTEGER, suggested TEXT, probability REAL, shown INTEGER NOT NULL, undone TEXT
);
CREATE INDEX decisions_of_text ON decisions (text);
CREATE INDEX decisions_of_batch ON decisions (batch);
CREATE TABLE rounds (number INTEGER PRIMARY KEY, state TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE suggestions (
    text INTEGER PRIMARY KEY REFERENCES texts, label TEXT NOT NULL, probability REAL NOT NULL, place INTEGER,
    round INTEGER NOT NULL
);
CREATE INDEX suggestions_by_place ON suggestions (place);
CREATE VIEW current AS SELECT d.* FROM texts t JOIN decisions d ON d.id = t.decision;
CREATE VIEW opinions AS
    SELECT * FROM decisions WHERE kind = 'label' AND id IN (
        SELECT max(id) FROM decisions
        WHERE undone IS NULL AND batch > 0 AND way NOT IN ('settle', 'doubt', 'class') GROUP BY text, who
    );
CREATE VIEW disputed AS
    SELECT o.text FROM opinions o JOIN current c ON c.text = o.text
    WHERE c.way NOT IN ('settle', 'doubt', 'class') GROUP BY o.text HAVING count(DISTINCT o.label) > 1;
"""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a person decided about some texts at once.

    Attributes:
        label: as a cell of the table would hold it. None unless the kind is `label`.
        way: why the texts were shown: "random" (they measure the model), "any" (drawn from the others), "unsure",
            "second" (another person has labelled them), "search", "alike", "table"; or one person decides for all:
            "settle" (different labels), "doubt", "class".
        shown: whether the suggestion of the model was shown before the decision.
    """

    texts: Sequence[int]
    kind: Kind
    label: str | None = None
    note: str = ""
    who: str
    way: str
    shown: bool = False


class Store:
    """The file of a project. Its methods may be called from any thread. Each change is on the disk when it returns.

    Raises:
        UsageError: the file is none of a desk, or was written by a newer version.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if not version:
                with self._change() as change:
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        change.execute(statement)
                    change.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{path} cannot be read as the labels of a desk: {error}; name another folder") from error
        if version > _VERSION:
            raise UsageError(f"{path} was written by a newer version of glassformer; update glassformer")

    def close(self) -> None:
        """Write everything into the one file, and close it."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """Do all of it, or nothing."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite ends it itself if the disk is full
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return the rows that a query finds."""
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
        """Remember facts."""
        with self._change() as change:
            _write_facts(change, facts)

    def fill(self, texts: pl.DataFrame, draws: Sequence[float], facts: Mapping[str, Any]) -> None:
        """Put the texts of a table in the place of all there is, with the labels that they came with.

        Args:
            texts: the columns id, text and label, null where a row has no label.
            draws: a random number for each text: the order in which texts are drawn at random.
        """
        with self._change() as change:
            for table in ("decisions", "suggestions", "classes", "rounds", "facts", "texts"):
                change.execute(f"DELETE FROM {table}")
            change.executemany(
                "INSERT INTO texts (id, text, draw) VALUES (?, ?, ?)",
                zip(texts["id"], texts["text"], draws, strict=True),
            )
            labelled = texts.filter(pl.col("label").is_not_null())
            now = _now()
            change.executemany(
                "INSERT INTO decisions (text, kind, label, note, who, at, batch, way, shown) "
                "VALUES (?, 'label', ?, '', ?, ?, 0, 'table', 0)",
                ((text, label, OF_TABLE, now) for text, label in zip(labelled["id"], labelled["label"], strict=True)),
            )
            _look_up(change, 0)
            names = labelled["label"].unique().sort()
            change.executemany("INSERT INTO classes VALUES (?, ?)", zip(names, range(len(names)), strict=True))
            _write_facts(change, facts)

    @property
    def classes(self) -> list[str]:
        """The classes in their order."""
        return [row["name"] for row in self.rows("SELECT name FROM classes ORDER BY place")]

    def counts(self) -> dict[str, int]:
        """Return how many texts have each label."""
        found = self.rows("SELECT label, count(*) AS texts FROM current WHERE kind = 'label' GROUP BY label")
        return {row["label"]: row["texts"] for row in found}

    def decide(self, decision: Decision) -> int:
        """Keep a decision, and what the model said about each text. A new label becomes a class.

        Returns:
            The number of the batch, by which it can be undone.
        """
        with self._change() as change:
            (batch,) = change.execute("SELECT coalesce(max(batch), 0) + 1 FROM decisions").fetchone()
            now = _now()
            change.executemany(
                "INSERT INTO decisions (text, kind, label, note, who, at, batch, way, shown, round, suggested, "
                "probability) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, s.round, s.label, s.probability FROM (SELECT 1) "
                "LEFT JOIN suggestions s ON s.text = ?",
                (
                    (text, decision.kind, decision.label, decision.note, decision.who, now, batch, decision.way,
                     decision.shown, text)
                    for text in decision.texts
                ),
            )  # fmt: skip
            _look_up(change, batch)
            if decision.label is not None:
                change.execute(
                    "INSERT INTO classes SELECT ?, (SELECT coalesce(max(place), -1) + 1 FROM classes) "
                    "WHERE NOT EXISTS (SELECT 1 FROM classes WHERE name = ?)",
                    (decision.label, decision.label),
                )
            return int(batch)

    def undo(self, who: str) -> list[int]:
        """Undo the last decision of a person, and return its texts. They have the label of before again."""
        with self._change() as change:
            (batch,) = change.execute(
                "SELECT max(batch) FROM decisions WHERE who = ? AND undone IS NULL AND batch > 0", (who,)
            ).fetchone()
            if batch is None:
                return []
            found = change.execute("SELECT text FROM decisions WHERE batch = ?", (batch,)).fetchall()
            change.execute("UPDATE decisions SET undone = ? WHERE batch = ?", (_now(), batch))
            _look_up(change, batch)
            change.execute(  # a class that was renamed or joined is there again
                "INSERT INTO classes SELECT DISTINCT label, (SELECT max(place) + 1 FROM classes) FROM current "
                "WHERE kind = 'label' AND label NOT IN (SELECT name FROM classes)"
            )
            return [row["text"] for row in found]

    def add_class(self, name: str) -> None:
        """Add a class that no text has yet."""
        with self._change() as change:
            change.execute("INSERT OR IGNORE INTO classes SELECT ?, coalesce(max(place), -1) + 1 FROM classes", (name,))

    def move_class(self, name: str, to: str, who: str) -> int:
        """Give all texts of a class another one, which may be new, and forget the class. Return how many moved."""
        texts = [row["text"] for row in self.rows("SELECT text FROM current WHERE kind = 'label' AND label = ?", name)]
        with self._lock:
            place = self.value("SELECT place FROM classes WHERE name = ?", name)
            is_new = to not in self.classes
            self.add_class(to)
            if texts:
                self.decide(Decision(texts=texts, kind="label", label=to, who=who, way="class"))
            with self._change() as change:
                change.execute("DELETE FROM classes WHERE name = ?", (name,))
                if is_new:
                    change.execute("UPDATE classes SET place = ? WHERE name = ?", (place, to))
        return len(texts)

    def labelled(self) -> pl.DataFrame:
        """Return the texts that have a label: the columns id, text, label and way, in the order of the table.

        Texts with different labels of several people are left out until somebody settles them.
        """
        found = self.rows(
            "SELECT t.id, t.text, c.label, c.way FROM current c JOIN texts t ON t.id = c.text WHERE c.kind = 'label' "
            "AND t.id NOT IN (SELECT text FROM disputed) ORDER BY t.id"
        )
        schema = {"id": pl.Int64, "text": pl.String, "label": pl.String, "way": pl.String}
        return pl.DataFrame([tuple(row) for row in found], schema=schema, orient="row")

    def unlabelled(self) -> pl.DataFrame:
        """Return the texts about which nobody has decided: the columns id, text and draw, in their random order."""
        found = self.rows("SELECT id, text, draw FROM texts WHERE decision IS NULL ORDER BY draw")
        schema = {"id": pl.Int64, "text": pl.String, "draw": pl.Float64}
        return pl.DataFrame([tuple(row) for row in found], schema=schema, orient="row")

    def left(self) -> int:
        """Return how many texts nobody has decided about."""
        return int(self.value("SELECT count(*) FROM texts WHERE decision IS NULL"))

    def suggest(self, suggestions: pl.DataFrame, *, number: int) -> None:
        """Put what the model of a round says in the place of what the one before said.

        Args:
            suggestions: the columns id, label, probability, and place: which texts are most worth labelling, from 0, or
                null.
        """
        with self._change() as change:
            change.execute("DELETE FROM suggestions")
            columns = suggestions.select("id", "label", "probability", "place", pl.lit(number))
            change.executemany("INSERT INTO suggestions VALUES (?, ?, ?, ?, ?)", columns.iter_rows())

    def write_round(self, number: int, state: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a round of training, in the place of what was known of it."""
        with self._change() as change:
            values = (number, state, json.dumps(record))
            change.execute("INSERT OR REPLACE INTO rounds VALUES (?, ?, ?)", values)

    def rounds(self) -> list[dict[str, Any]]:
        """Return the records of all rounds, oldest first."""
        found = self.rows("SELECT * FROM rounds ORDER BY number")
        return [{"number": row["number"], "state": row["state"], **json.loads(row["record"])} for row in found]


def _look_up(change: sqlite3.Connection, batch: int) -> None:
    """Find the last decision about each text of a batch anew."""
    change.execute(
        "UPDATE texts SET decision = (SELECT max(id) FROM decisions d WHERE d.text = texts.id AND d.undone IS NULL) "
        "WHERE id IN (SELECT text FROM decisions WHERE batch = ?)",
        (batch,),
    )


def _write_facts(change: sqlite3.Connection, facts: Mapping[str, Any]) -> None:
    values = ((name, json.dumps(value)) for name, value in facts.items())
    change.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", values)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
