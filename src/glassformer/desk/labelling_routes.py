"""The routes about texts: the next one, decisions, undoing them, searching, texts that are alike, doubtful labels."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import polars as pl
from fastapi import FastAPI, Query

from glassformer.desk.choosing import next_text, word_vectors
from glassformer.desk.inputs_read import InputsRead
from glassformer.desk.people import disagreements
from glassformer.desk.project import Project
from glassformer.desk.rounds import Rounds
from glassformer.desk.shapes import MOST_AT_ONCE, Decided, Search, SearchPage, Undone
from glassformer.desk.store import OF_TABLE, Decision, Store
from glassformer.errors import UsageError
from glassformer.serving.limits import RefusedError

_FOR_ALL = ("settle", "doubt", "class")  # one person decides for all; so it is for the repeats
_PAGE, _ALIKE, _ALIKE_LABELLED, _LEAST_ALIKE = 50, 50, 5, 0.1
_PAIR = 2  # people
_Who = Annotated[str, Query(max_length=200)]

_SHOWN = (
    "SELECT t.id, t.text, t.beside, t.decision, c.kind, c.label, c.note, c.way, s.label AS suggested, s.probability "
    "FROM texts t LEFT JOIN decisions c ON c.id = t.decision LEFT JOIN suggestions s ON s.text = t.id"
)
_STATES = {
    "all": "1",
    "open": "c.id IS NULL",
    "labelled": "c.kind = 'label'",
    "unsure": "c.kind = 'unsure'",
    "skipped": "c.kind = 'skip'",
    "dropped": "c.kind = 'drop'",
}


def add_labelling(app: FastAPI, project: Project, rounds: Rounds) -> None:
    """Add the routes."""
    store = project.store

    @app.get("/desk/next")
    def upcoming(who: _Who, leaving: int | None = None, *, blind: bool = False) -> dict[str, Any]:
        """Return the text to label next. None if nothing is left."""
        found = next_text(store, who, leaving=leaving)
        text = None if found is None else _text_for(store, found["id"], who, blind=blind) | {"way": found["way"]}
        return {"text": text}

    @app.get("/desk/texts/{number}")
    def one(number: int, who: _Who = "", *, blind: bool = False) -> dict[str, Any]:
        """Return a text, and what was decided about it, unless that would sway this person."""
        return {"text": _text_for(store, number, who, blind=blind)}

    @app.post("/desk/decisions")
    def decide(body: Decided) -> dict[str, Any]:
        """Keep a decision, about the repeats of the texts too. With enough new labels, the next round begins."""
        if (body.label is None) == (body.kind == "label"):
            raise UsageError("a decision of the kind `label` has a label, and no other has one")
        label = None if body.label is None else store.labelling.cell(body.label)
        texts = _meant(store, body)
        decision = Decision(
            texts=texts, kind=body.kind, label=label, note=body.note.strip(),
            who=body.who, way=body.way, shown=body.shown,
        )  # fmt: skip
        repeats = [] if body.texts is None else store.repeats(texts)
        if body.kind == "skip":  # not now: what has a label keeps it
            repeats = sorted({*repeats} - {row["text"] for row in _labelled(store, repeats)})
        if body.beside and label is not None:
            batch = store.give(replace(decision, texts=[*texts, *repeats]), instead=body.instead)
        else:
            batch = store.decide(
                decision, replace(decision, texts=repeats, way=body.way if body.way in _FOR_ALL else "repeat")
            )
        return {"batch": batch, "texts": len(texts), "repeats": len(repeats), "round": rounds.begin_if_due()}

    @app.post("/desk/undo")
    def undo(body: Undone) -> dict[str, Any]:
        """Undo the last decision of a person, and return the first text of it."""
        texts = store.undo(body.who)
        text = _text_for(store, texts[0], body.who, blind=body.blind) | {"way": "search"} if texts else None
        return {"texts": len(texts), "text": text}


def add_looking(app: FastAPI, store: Store) -> None:
    """Add the routes that find texts."""

    @app.get("/desk/texts")
    def search(
        asked: Annotated[SearchPage, Query()],
    ) -> dict[str, Any]:
        """Return the texts that a search finds, a page at a time."""
        where, values = _condition(asked)
        page = asked.page
        total = store.value(f"SELECT count(*) FROM ({_SHOWN} WHERE {where})", *values)
        found = store.rows(f"{_SHOWN} WHERE {where} ORDER BY t.id LIMIT {_PAGE} OFFSET {page * _PAGE}", *values)
        return {"total": total, "page": page, "per_page": _PAGE, "texts": [_row(row) for row in found]}

    @app.get("/desk/repeats")
    def repeats(texts: Annotated[list[int], Query(max_length=MOST_AT_ONCE)]) -> dict[str, Any]:
        """Return how many other rows have the same text as one of these, and their labels."""
        return _repeats(store, texts)

    @app.get("/desk/alike/{number}")
    def alike(number: int) -> dict[str, Any]:
        """Return the texts that are most like this one, by the words that both have: without a label, and with one.

        From the latter, a model learned what it says of this text.
        """
        return {
            "texts": _alike(store, number, store.unlabelled(), _ALIKE),
            "labelled": _alike(store, number, store.labelled(), _ALIKE_LABELLED),
        }

    @app.get("/desk/doubts")
    def doubts() -> dict[str, Any]:
        """Return the labels that the last check doubts, most doubtful first, unless they were changed since.

        `other` is the text whose label contradicts it, if there is one. If that was changed, nothing is doubted.
        """
        found = []
        for doubt in store.facts.get("doubts", []):
            now = _text(store, doubt["id"])
            other = _text(store, doubt["other"]) if "other" in doubt else None
            is_open = now["label"] == doubt["label"] and now["way"] != "doubt"
            if is_open and (other is None or other["label"] == doubt["other_label"]):
                found.append(doubt | {"text": now, "other": other})
        return {"doubts": found}

    @app.get("/desk/disagreements")
    def different() -> dict[str, Any]:
        """Return the texts to which people gave different labels."""
        return {"disagreements": disagreements(store)}


def _condition(search: Search) -> tuple[str, list[str]]:
    """Return the condition of a search in SQL, and its values."""
    where, values = [_STATES[search.state]], list[str]()
    for phrase, word in re.findall(r'"([^"]+)"|(\S+)', search.words):
        where.append("t.text || ' ' || coalesce(t.beside, '') LIKE ? ESCAPE '\\'")
        values.append("%" + re.sub(r"([%_\\])", r"\\\1", phrase or word) + "%")
    if search.label is not None:
        where.append("is_of(coalesce(c.label, s.label), ?)")
        values.append(search.label)
    return " AND ".join(where), values


def _meant(store: Store, body: Decided) -> list[int]:
    """Return the texts that a decision is about."""
    if (body.texts is None) == (body.found is None):
        raise UsageError("a decision is about `texts`, or about all that are `found`")
    if body.texts is None:
        where, values = _condition(body.found or Search())
        found = [row["id"] for row in store.rows(f"{_SHOWN} WHERE {where} ORDER BY t.id", *values)]
        if not found:
            raise UsageError("the search finds no text any more; search again")
        return found
    texts = list(dict.fromkeys(body.texts))
    if store.value(f"SELECT count(*) FROM texts WHERE id IN ({', '.join(map(str, texts))})") < len(texts):
        raise UsageError("one of these texts is not in the project; load the page again")
    return texts


def _text(store: Store, number: int) -> dict[str, Any]:
    """Return what the page shows of a text."""
    found = store.rows(f"{_SHOWN} WHERE t.id = ?", number)
    if not found:
        raise RefusedError(404, f"there is no text {number} in this project")
    return _row(found[0]) | _repeats(store, [number])


def _repeats(store: Store, texts: Sequence[int]) -> dict[str, Any]:
    """Return how many other rows have these texts, and their labels: an answer labels them too."""
    repeats = store.repeats(texts)
    counts = Counter((row["label"], row["who"]) for row in _labelled(store, repeats))
    labels = [{"label": label, "who": who, "rows": rows} for (label, who), rows in counts.most_common()]
    return {"repeats": len(repeats), "labels_of_repeats": labels}


def _text_for(store: Store, number: int, who: str, *, blind: bool) -> dict[str, Any]:
    """Return what the page shows of a text to a person.

    What another person decided is left out if this one labels blind, or is the second of two who label each text.
    """
    found = _text(store, number)
    people = {row["who"] for row in store.rows("SELECT who FROM opinions WHERE text = ?", number)}
    decider = store.value("SELECT who FROM current WHERE text = ?", number)
    apart = blind or (store.facts.get("twice") and len(people) < _PAIR)
    if not apart or who in people or decider in (None, OF_TABLE, who):
        return found
    own = [each for each in found["labels_of_repeats"] if each["who"] in (OF_TABLE, who)]
    return found | {"kind": None, "label": None, "note": None, "labels_of_repeats": own}


def _labelled(store: Store, texts: Sequence[int]) -> list[Any]:
    """Return those of the texts that have a label, with the label and who gave it."""
    where = "kind = 'label' AND text IN (SELECT value FROM json_each(?))"
    return store.rows(f"SELECT text, label, who FROM current WHERE {where}", json.dumps(texts))


def _row(found: Any) -> dict[str, Any]:
    """Return what is kept of a text with the values beside it."""
    return {**found, "beside": found["beside"] and json.loads(found["beside"])}


def _alike(store: Store, number: int, others: pl.DataFrame, most: int) -> list[dict[str, Any]]:
    given = _text(store, number)
    if others.height < 2:
        return []
    inputs = InputsRead.of(store.facts)
    vectors = word_vectors(
        [*inputs.words(others), "\n".join(filter(None, [given["text"], *(given["beside"] or {}).values()]))]
    )
    likeness = (vectors[:-1] @ vectors[-1].T).toarray()[:, 0]
    order = [place for place in (-likeness).argsort(kind="stable")[: most + 1] if likeness[place] >= _LEAST_ALIKE]
    rows = others.drop("beside", "draw", "way", strict=False).to_dicts()
    alike = [rows[place] | {"likeness": round(float(likeness[place]), 3)} for place in order]
    return [row for row in alike if row["id"] != number][:most]
