"""The tables of the file of a project, and what brings a file of an earlier version to the present one."""

from __future__ import annotations

VERSION = 4
# `texts.decision` is the last decision about a text that is not undone. It could be looked up each time, but that takes
# seconds with 50,000 texts. `same` is the first row with the same text and values beside it.
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL, draw REAL NOT NULL, decision INTEGER, beside TEXT,
    same INTEGER);
CREATE INDEX repeats ON texts (same);
CREATE INDEX open_texts ON texts (draw) WHERE decision IS NULL;
CREATE TABLE classes (name TEXT PRIMARY KEY, place INTEGER NOT NULL);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY, text INTEGER NOT NULL REFERENCES texts, kind TEXT NOT NULL, label TEXT,
    note TEXT NOT NULL, who TEXT NOT NULL, at TEXT NOT NULL, batch INTEGER NOT NULL, way TEXT NOT NULL,
    round INTEGER, suggested TEXT, probability REAL, shown INTEGER NOT NULL, undone TEXT, giver TEXT
);
CREATE INDEX decisions_of_text ON decisions (text);
CREATE INDEX decisions_of_batch ON decisions (batch);
CREATE TABLE rounds (number INTEGER PRIMARY KEY, state TEXT NOT NULL, record TEXT NOT NULL);
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
_SUGGESTIONS = """
CREATE TABLE suggestions (
    text INTEGER PRIMARY KEY REFERENCES texts, label TEXT NOT NULL, probability REAL, place INTEGER,
    round INTEGER NOT NULL
);
CREATE INDEX suggestions_by_place ON suggestions (place);
"""
LABELS = "SELECT d.text, d.label FROM texts t CROSS JOIN decisions d ON d.id = t.decision WHERE d.kind = 'label'"
OWN_LABELS = (  # labels of people, if nobody has decided for all
    "WITH o AS MATERIALIZED (SELECT * FROM opinions) SELECT o.* FROM o JOIN current c ON c.text = o.text "
    "WHERE c.way NOT IN ('settle', 'doubt', 'class')"
)

# The next round fills the suggestions again.
CHANGES = {
    0: _SCHEMA + _SUGGESTIONS,
    1: "ALTER TABLE texts ADD COLUMN beside TEXT; DROP TABLE suggestions;" + _SUGGESTIONS,
    2: "ALTER TABLE decisions ADD COLUMN giver TEXT; ALTER TABLE texts ADD COLUMN same INTEGER; "
    "CREATE INDEX repeats ON texts (same); UPDATE texts SET same = f.first FROM "
    "(SELECT text, beside, min(id) AS first FROM texts GROUP BY text, beside) f "
    "WHERE f.text = texts.text AND f.beside IS texts.beside;",
    3: "INSERT INTO facts SELECT 'added', json_group_array(name) FROM classes;",  # which ones is unknown: all stay
}
"""What brings a file of each version to the next one; a new file gets all at once."""
