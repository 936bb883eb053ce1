"""What a person decided, the tables of the file of a project, and what brings an earlier file to the present ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

Kind = Literal["label", "skip", "unsure", "drop"]
"""What a person decided: a label, not now, a doubt that the model does not learn from, or to leave the text out."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a person decided about some texts at once.

    Attributes:
        label: as it is kept (see `Labelling`). None unless the kind is `label`.
        way: why the texts were shown: "random" (they measure the model), "any" (drawn from the others), "unsure",
            "second" (another person has labelled them), "search", "alike", "table", "repeat" (the same as another text
            that was shown), "renamed" (its class was); or one person decides for all: "settle" (different labels),
            "doubt", "class".
        shown: whether the suggestion of the model was shown before the decision.
        giver: who gave it in the name of `who`, and can undo it. None: `who` did.
        stands: the number of the decision in whose place it comes, with another name of a class. None: it comes last.
    """

    texts: Sequence[int]
    kind: Kind
    label: str | None = None
    note: str = ""
    who: str
    way: str
    shown: bool = False
    giver: str | None = None
    stands: int | None = None


VERSION = 8
LAST_FIRST = "ORDER BY kind = 'skip', coalesce(stands, id) DESC, id DESC LIMIT 1"
"""Which of several decisions holds. A skip decides nothing where somebody has decided, and another name of a class
stands where the label stood that had the old one."""

# `texts.decision` is the decision about a text that holds. It could be looked up each time, but that takes seconds with
# 50,000 texts. `same` is the first one with the same text and values beside it. `row` is where it stands in the table,
# or null if it is gone from there. `decisions.stands` is the decision in
# whose place one comes because its class got another name. `renames.batch` is the batch from which on a class had the
# new name, `renames.place` the place that it had, or null if undoing a batch does not bring the old name back,
# `renames.who` the person who can undo it where no decision says so, as the class had no texts; `is_new`: the name was.
# `suggestions.said` is what the model said; `label` has the present names of its classes. So is `unseen.answered`.
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL, draw REAL NOT NULL, decision INTEGER, beside TEXT,
    same INTEGER, row INTEGER);
CREATE INDEX repeats ON texts (same);
CREATE INDEX open_texts ON texts (draw) WHERE decision IS NULL;
CREATE TABLE classes (name TEXT PRIMARY KEY, place INTEGER NOT NULL);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY, text INTEGER NOT NULL REFERENCES texts, kind TEXT NOT NULL, label TEXT,
    note TEXT NOT NULL, who TEXT NOT NULL, at TEXT NOT NULL, batch INTEGER NOT NULL, way TEXT NOT NULL,
    round INTEGER, suggested TEXT, probability REAL, shown INTEGER NOT NULL, undone TEXT, giver TEXT, stands INTEGER
);
CREATE INDEX decisions_of_text ON decisions (text);
CREATE INDEX decisions_of_batch ON decisions (batch);
CREATE TABLE rounds (number INTEGER PRIMARY KEY, state TEXT NOT NULL, record TEXT NOT NULL);
CREATE VIEW current AS SELECT d.* FROM texts t JOIN decisions d ON d.id = t.decision;
"""
_RENAMES = """
CREATE TABLE renames (
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL, name TEXT NOT NULL, became TEXT NOT NULL, place INTEGER
);
"""
_OF_NO_TEXTS = "ALTER TABLE renames ADD COLUMN who TEXT; ALTER TABLE renames ADD COLUMN is_new INTEGER;"
_OPINIONS = """
CREATE VIEW opinions AS
    SELECT * FROM decisions WHERE kind = 'label' AND id IN (
        SELECT max((coalesce(stands, id) << 31) + id) & 0x7fffffff FROM decisions WHERE undone IS NULL AND batch > 0
        AND kind <> 'skip' AND way NOT IN ('settle', 'doubt', 'class', 'table') GROUP BY text, who
    );
CREATE VIEW disputed AS
    SELECT o.text FROM opinions o JOIN current c ON c.text = o.text
    WHERE c.kind <> 'drop' AND c.way NOT IN ('settle', 'doubt', 'class')
    GROUP BY o.text HAVING count(DISTINCT o.label) > 1;
"""
_SUGGESTIONS = """
CREATE TABLE suggestions (
    text INTEGER PRIMARY KEY REFERENCES texts, label TEXT NOT NULL, probability REAL, place INTEGER,
    round INTEGER NOT NULL, said TEXT NOT NULL
);
CREATE INDEX suggestions_by_place ON suggestions (place);
"""
_UNSEEN = """
CREATE TABLE unseen (
    text INTEGER PRIMARY KEY REFERENCES texts, answered TEXT NOT NULL, probability REAL, round INTEGER NOT NULL,
    said TEXT NOT NULL
);
"""  # what the model of the last round answered to texts with a label that it had not learned
LABELS = "SELECT d.text, d.label FROM texts t CROSS JOIN decisions d ON d.id = t.decision WHERE d.kind = 'label'"
GIVEN = "(SELECT value FROM json_each(?1))"
"""A list of any length as one value."""
OF_BATCH = "(SELECT text FROM decisions WHERE batch = ?1)"
STANDING = (
    "SELECT * FROM decisions WHERE kind = 'label' AND is_among(label, ?2) AND (?1 IS NULL OR text IN "
    f"{GIVEN}) AND id IN (SELECT max(id) FROM decisions WHERE undone IS NULL GROUP BY coalesce(stands, id)) ORDER BY id"
)
"""Labels of a class that hold, or would hold if later decisions were undone."""

# From version 1, the next round fills the suggestions again.
CHANGES = {
    0: _SCHEMA + _RENAMES + _OF_NO_TEXTS + _OPINIONS + _SUGGESTIONS + _UNSEEN,
    1: "ALTER TABLE texts ADD COLUMN beside TEXT; DROP TABLE suggestions;" + _SUGGESTIONS,
    2: "ALTER TABLE decisions ADD COLUMN giver TEXT; ALTER TABLE texts ADD COLUMN same INTEGER; "
    "CREATE INDEX repeats ON texts (same); UPDATE texts SET same = f.first FROM "
    "(SELECT text, beside, min(id) AS first FROM texts GROUP BY text, beside) f "
    "WHERE f.text = texts.text AND f.beside IS texts.beside;",
    3: "INSERT INTO facts SELECT 'added', json_group_array(name) FROM classes;",  # which ones is unknown: all stay
    4: "ALTER TABLE decisions ADD COLUMN stands INTEGER; DROP VIEW disputed; DROP VIEW opinions;"
    + _RENAMES
    + _OPINIONS
    + "ALTER TABLE suggestions RENAME TO before; DROP INDEX suggestions_by_place;"
    + _SUGGESTIONS
    + "INSERT INTO suggestions SELECT text, label, probability, place, round, label FROM before; DROP TABLE before;"
    + f"UPDATE texts SET decision = (SELECT id FROM decisions WHERE text = texts.id AND undone IS NULL {LAST_FIRST});",
    5: _UNSEEN,
    6: "DROP VIEW disputed; DROP VIEW opinions;" + _OPINIONS,
    7: "ALTER TABLE texts ADD COLUMN row INTEGER; UPDATE texts SET row = id;" + _OF_NO_TEXTS,
}
"""What brings a file of each version to the next one; a new file gets all at once."""

_OF_TEXTS = "EXISTS (SELECT 1 FROM json_each(beside) WHERE type NOT IN ('text', 'null'))"
_OF_ROUND = "json_type(record, '$.labels') IS NOT 'integer'"
_NO_RECORDS = {
    "texts": f"iif(json_valid(beside), json_type(beside) <> 'object' OR {_OF_TEXTS}, beside IS NOT NULL)",
    "rounds": f"iif(json_valid(record), json_type(record) <> 'object' OR {_OF_ROUND}, 1)",
}


def check_cells(opened: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` if a cell is not of the type of its column, or no JSON where all else reads some.

    SQLite itself holds anything in any column.
    """
    tables = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        columns = opened.execute("SELECT name, lower(type) FROM pragma_table_info(?)", (table,)).fetchall()
        odd = [f"""typeof("{name}") NOT IN ('null', '{kind}')""" for name, kind in columns if kind]
        odd += [_NO_RECORDS[table]] if table in _NO_RECORDS else []
        if odd and opened.execute(f'SELECT 1 FROM "{table}" WHERE {" OR ".join(odd)} LIMIT 1').fetchone():
            raise sqlite3.DatabaseError(f"its table {table} holds what no desk writes")


def check_kinds(opened: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` if something changes the labels by itself, or a view stands for a table."""
    own = {name for kind, name, _ in _own() if kind == "table"}
    for kind, name in opened.execute("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"):
        if kind == "trigger" or name in own:
            raise sqlite3.DatabaseError(f"no desk writes the {kind} {name}")


def use_own_views(opened: sqlite3.Connection) -> None:
    """Put our views before those of the file, which may say something else or have no end."""
    for kind, _, statement in _own():
        if kind == "view":
            opened.execute(statement.replace("CREATE VIEW", "CREATE TEMP VIEW IF NOT EXISTS", 1))


def _own() -> list[tuple[str, str, str]]:
    """Return the kind, the name and the statement of all that a new file holds."""
    with closing(sqlite3.connect(":memory:")) as new:
        new.executescript(CHANGES[0])
        return new.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
