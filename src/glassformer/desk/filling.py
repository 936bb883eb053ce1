"""The texts of a project as its table holds them: all anew, or what has changed since. What people decided stays."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import defaultdict, deque
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from glassformer.data.labels import in_order
from glassformer.desk.labelling import Labelling, Renames, labelling_of
from glassformer.desk.schema import GIVEN, OF_BATCH
from glassformer.desk.store import OF_TABLE, Store, add_to_classes, look_up, now

_SEED = 0  # of the order in which texts are drawn at random
_OF_TABLE = "SELECT * FROM decisions WHERE batch = 0 AND stands IS NULL AND undone IS NULL"
_RENAMES = """
    SELECT batch, name, became, coalesce(who, (SELECT giver FROM decisions d WHERE d.batch = r.batch LIMIT 1)) AS giver
    FROM renames r WHERE place IS NOT NULL ORDER BY batch, id
"""  # without those that only tell what a model says: they were undone
_OF_PEOPLE = """
    SELECT id, kind, label, note, who, at, batch, giver, stands,
        CASE WHEN way IN ('settle', 'doubt', 'class', 'renamed') THEN way ELSE 'repeat' END AS way
    FROM decisions WHERE text = ? AND undone IS NULL AND batch > 0 AND way <> 'table' ORDER BY id
"""


_Said = tuple[str, str | None]  # the kind of a decision, and a label


class Changes(NamedTuple):
    """How many rows of a table came, are gone or have another text, and have another label."""

    came: int
    gone: int
    relabelled: int


class _New(NamedTuple):
    """A text to add. `same` is the first one that is the same."""

    id: int
    text: str
    beside: str | None
    same: int
    row: int


class _Placed(NamedTuple):
    """Where the texts of a project are in its table.

    Attributes:
        rows: those of the texts that the project has.
        new: the other ones.
        labels: what the table says of all of these, by their numbers.
        gone: texts that the table does not have.
        were_there: texts that it had before.
    """

    rows: dict[int, int]
    new: list[_New]
    labels: dict[int, str | None]
    gone: set[int]
    were_there: set[int]


def fill(store: Store, texts: pl.DataFrame, facts: Mapping[str, Any]) -> None:
    """Put the texts of a table in the place of all there is, with the labels that they came with.

    Who labels, and how, stays.

    Args:
        texts: the columns id (the row), text, beside (see `InputsRead`) and label, null where a row has no label.

    Raises:
        UsageError: see `Store.check_unused`.
    """
    labelling = labelling_of(facts)
    with store.change() as change:
        store.check_unused()
        for table in ("decisions", "suggestions", "unseen", "classes", "renames", "rounds", "texts"):
            change.execute(f"DELETE FROM {table}")
        change.execute("DELETE FROM facts WHERE name NOT IN ('person', 'blind', 'twice')")
        store.note(**facts)
        _put(store, texts, labelling)
    store.labelling = labelling


def fill_again(store: Store, texts: pl.DataFrame) -> Changes:
    """Bring the texts to what their table (see `fill`) holds now.

    A text is the same if it and the values beside it are. One that is gone is left out, unless a person has decided
    about it. What a person decided also stays where the table has another label.
    """
    return _put(store, texts, store.labelling)


def _put(store: Store, texts: pl.DataFrame, labelling: Labelling) -> Changes:
    with store.change() as change:
        known = change.execute("SELECT * FROM texts ORDER BY row IS NULL, id").fetchall()
        placed = _placed(known, texts)
        change.execute("UPDATE texts SET row = NULL")
        change.executemany("UPDATE texts SET row = ? WHERE id = ?", ((row, text) for text, row in placed.rows.items()))
        draws = np.random.default_rng([_SEED, len(known)] if known else _SEED).random(len(placed.new)).tolist()
        change.executemany(
            "INSERT INTO texts (id, text, beside, same, row, draw) VALUES (?, ?, ?, ?, ?, ?)",
            ((*text, draw) for text, draw in zip(placed.new, draws, strict=True)),
        )
        relabelled = _take_labels(store, placed, labelling)
        _copy_decisions(change, placed.new)
    came = placed.labels.keys() - placed.were_there
    return Changes(len(came), len(placed.gone & placed.were_there), len(relabelled - placed.gone - came))


def _placed(known: list[sqlite3.Row], texts: pl.DataFrame) -> _Placed:
    """Find the texts of a table among those that a project knows, each of which is one row."""
    waiting, first, numbers = defaultdict[Any, deque[int]](deque), dict[Any, int](), {row["id"] for row in known}
    for row in known:
        waiting[row["text"], row["beside"]].append(row["id"])
        first[row["text"], row["beside"]] = row["same"]
    highest: Any = texts["id"].max() or 0
    free = itertools.count(1 + max(numbers | {highest}))
    placed = _Placed({}, [], {}, numbers.copy(), {row["id"] for row in known if row["row"] is not None})
    for row, text, beside, label in texts.select("id", "text", "beside", "label").iter_rows():
        if same := waiting.get((text, beside)):
            number = same.popleft()
            placed.rows[number] = row
            placed.gone.remove(number)
        else:
            number = next(free) if row in numbers else row
            placed.new.append(_New(number, text, beside, first.setdefault((text, beside), number), row))
        placed.labels[number] = label
    return placed


def _take_labels(store: Store, placed: _Placed, labelling: Labelling) -> set[int]:
    """Take over what the table says where no person has decided, and return of which texts it says something else.

    A text that is gone is left out by the table.
    """
    decided = {row["text"]: (row["kind"], row["label"]) for row in store.rows(_OF_TABLE)}
    says: dict[int, _Said | None] = {
        text: None if label is None else ("label", label) for text, label in placed.labels.items()
    }
    says |= dict.fromkeys(placed.gone, ("drop", None))
    other = {text for text, said in says.items() if said != decided.get(text)} - _by_person(store, decided)
    at = now()
    with store.change() as change:
        change.executemany(
            "UPDATE decisions SET undone = ? WHERE text = ? AND way = 'table' AND undone IS NULL",
            ((at, text) for text in other & decided.keys()),
        )
        change.executemany(
            "INSERT INTO decisions (text, kind, label, note, who, at, batch, way, shown) "
            "VALUES (?, ?, ?, '', ?, ?, 0, 'table', 0)",
            ((text, *said, OF_TABLE, at) for text in sorted(other) if (said := says[text]) is not None),
        )
        labels = _rename(store, other, labelling)
        look_up(change, OF_BATCH, 0)
        names = {name for label in labels for name in labelling.classes_of(label)}
        add_to_classes(change, in_order(sorted(names)))
    return other


def _by_person(store: Store, decided: Mapping[int, _Said]) -> set[int]:
    """Return the texts about which a person has decided more than another name of a class."""
    renames = Renames([tuple(row)[:3] for row in store.rows(_RENAMES)], store.labelling)
    present = cache(lambda label: label and renames.present(label, 0))
    return {
        row["text"]
        for row in store.rows("SELECT * FROM current WHERE batch > 0 AND kind <> 'skip'")
        if row["way"] != OF_TABLE or row["label"] != present(decided.get(row["text"], ("label", None))[1])
    }


def _rename(store: Store, texts: set[int], labelling: Labelling) -> set[str]:
    """Give labels that the table has just brought the other names that their classes got, and return the labels.

    As all labels of such a class, they have the old name again if that is undone.
    """
    renames = store.rows(_RENAMES)
    found = [row for row in store.rows(_OF_TABLE) if row["text"] in texts and row["kind"] == "label"]
    labels = {row["text"]: row["label"] for row in found}
    with store.change() as change:
        for row, rename in itertools.product(found, renames):
            if rename["name"] in labelling.classes_of(label := labels[row["text"]]):
                labels[row["text"]] = labelling.moved(label, rename["became"], rename["name"])
                change.execute(
                    "INSERT INTO decisions (text, kind, label, note, who, at, batch, way, shown, giver, stands) "
                    "VALUES (?, 'label', ?, '', ?, ?, ?, 'table', 0, ?, ?)",
                    (row["text"], labels[row["text"]], OF_TABLE, now(), rename["batch"], rename["giver"], row["id"]),
                )
    return set(labels.values())


def _copy_decisions(change: sqlite3.Connection, new: list[_New]) -> None:
    """Decide about new texts as people decided about the first one that is the same: they are labelled together."""
    labelled = {row["text"] for row in change.execute("SELECT DISTINCT text FROM decisions WHERE batch > 0")}
    repeats = [text for text in new if text.same in labelled]
    for text in repeats:
        copies: dict[int, int | None] = {}
        for row in change.execute(_OF_PEOPLE, (text.same,)).fetchall():
            values = [row[name] for name in ("kind", "label", "note", "who", "at", "batch", "way", "giver")]
            copies[row["id"]] = change.execute(
                "INSERT INTO decisions (text, stands, kind, label, note, who, at, batch, way, giver, shown) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                (text.id, copies.get(row["stands"]), *values),
            ).lastrowid
    look_up(change, GIVEN, json.dumps([text.id for text in repeats]))
