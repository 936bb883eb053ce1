"""What a person is shown of texts. Who labels apart does not see what another person decided about them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from glassformer.desk.schema import LAST_FIRST
from glassformer.desk.shapes import LONGEST_NAME, Search, Viewer
from glassformer.desk.store import OF_TABLE, Store
from glassformer.errors import UsageError
from glassformer.evaluation.slices import find_slices
from glassformer.evaluation.verdict import SIGNIFICANCE, slice_name
from glassformer.evaluation.weak_spots import Slice
from glassformer.serving.limits import RefusedError

# ?1: who looks, ?2: whether this person labels blind, ?3: whether two people label each text. A decision of another
# person may be hidden; who looks is shown the last one of their own instead.
_SHOWN = f"""
    SELECT t.id, t.text, t.beside, t.decision, c.kind, c.label, c.note, c.way, c.who, s.label AS suggested,
        s.probability, u.answered, u.probability AS answered_probability
    FROM texts t
    LEFT JOIN decisions last ON last.id = t.decision
    LEFT JOIN decisions c ON c.id = CASE
        WHEN NOT (?2 OR ?3) OR last.who IN ('{OF_TABLE}', ?1) OR t.id IN (SELECT text FROM opinions WHERE who = ?1)
        OR (NOT ?2 AND t.id IN (SELECT text FROM opinions GROUP BY text HAVING count(*) > 1)) THEN last.id
        ELSE (SELECT id FROM decisions WHERE text = t.id AND who = ?1 AND undone IS NULL {LAST_FIRST})
    END
    LEFT JOIN suggestions s ON s.text = t.id AND NOT ?2
    LEFT JOIN unseen u ON u.text = t.id AND c.id = last.id AND NOT ?2"""
_ANSWERED = "c.kind = 'label' AND u.answered IS NOT NULL"
_STATES = {
    "all": "1",
    "open": "c.id IS NULL",
    "labelled": "c.kind = 'label'",
    "unsure": "c.kind = 'unsure'",
    "skipped": "c.kind = 'skip'",
    "dropped": "c.kind = 'drop'",
    "wrong": "c.kind = 'label' AND distance(c.label, u.answered) > 0",
    "missed": f"{_ANSWERED} AND NOT is_among(u.answered, ?)",
    "extra": "c.kind = 'label' AND NOT is_among(c.label, ?)",
}


def found(store: Store, search: Search, *, page: tuple[int, int] = (-1, 0)) -> list[dict[str, Any]]:
    """Return the texts that a search finds, in the order of the table; wrong answers, the worst first.

    Args:
        page: how many of them at most, and how many before them are left out.
    """
    where, values = _condition(search)
    worst = "distance(c.label, u.answered) DESC, u.probability DESC, " if search.state == "wrong" else ""
    return _rows(store, search, f"{where} ORDER BY {worst}t.id LIMIT ? OFFSET ?", *values, *page)


def number_found(store: Store, search: Search) -> int:
    where, values = _condition(search)
    return int(store.value(f"SELECT count(*) FROM ({_SHOWN} WHERE {where})", *_seen_by(store, search), *values))


def text_for(store: Store, number: int, viewer: Viewer | None) -> dict[str, Any]:
    """Return what a person is shown of a text. None: one who decides for all, and sees everything.

    Raises:
        RefusedError: there is no such text.
    """
    texts = _rows(store, viewer, "t.id = ?", number)
    if not texts:
        raise RefusedError(404, f"there is no text {number} in this project")
    return texts[0] | repeats_for(store, [number], viewer)


def repeats_for(store: Store, texts: Sequence[int], viewer: Viewer | None) -> dict[str, Any]:
    """Return how many other rows have these texts, and their labels: an answer labels them too."""
    repeats = store.repeats(texts)
    counts = Counter((row["label"], row["who"]) for row in labelled_for(store, viewer, repeats))
    labels = [{"label": label, "who": who, "rows": rows} for (label, who), rows in counts.most_common()]
    return {"repeats": len(repeats), "labels_of_repeats": labels}


def labelled_for(store: Store, viewer: Viewer | None, texts: Sequence[int]) -> list[Any]:
    """Return the number, label and labeller of those of the texts that have a label that a person is shown."""
    where = "c.kind = 'label' AND t.id IN (SELECT value FROM json_each(?))"
    return store.rows(
        f"SELECT id, label, who FROM ({_SHOWN} WHERE {where})", *_seen_by(store, viewer), json.dumps(texts)
    )


def answers_shown(store: Store, viewer: Viewer) -> dict[str, Any]:
    """Count the texts with a label that the model of the last round had not learned, by label and answer.

    Those that a person is not shown are `hidden`. Of texts with several classes there are no `pairs`, but `by_class`:
    how often each was answered rightly (`right`), not (`missed`), and without being in the label (`extra`).
    """
    found = store.rows(
        f"SELECT label, answered, count(*) AS texts, distance(label, answered) > 0 AS wrong FROM ({_SHOWN} "
        f"WHERE {_ANSWERED}) GROUP BY label, answered",
        *_seen_by(store, viewer),
    )
    texts = sum(pair["texts"] for pair in found)
    kept = store.value("SELECT count(*) FROM unseen u JOIN current c ON c.text = u.text WHERE c.kind = 'label'")
    pairs = [{name: pair[name] for name in ("label", "answered", "texts")} for pair in found]
    return {
        "texts": texts,
        "hidden": kept - texts,
        "wrong": sum(pair["texts"] for pair in found if pair["wrong"]),
        "by_level": store.labelling.by_level({(pair["label"], pair["answered"]): pair["texts"] for pair in found}),
        "pairs": pairs if store.labelling.panel == "class" else [],
        "by_class": _by_class(store, pairs) if store.labelling.panel == "classes" else [],
    }


def unseen_rows(store: Store, viewer: Viewer) -> list[Any]:
    """Return these texts one by one: text, beside, and whether the answer is `wrong`."""
    return store.rows(
        f"SELECT text, beside, distance(label, answered) > 0 AS wrong FROM ({_SHOWN} WHERE {_ANSWERED})",
        *_seen_by(store, viewer),
    )


def _by_class(store: Store, pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    counts = {what: Counter[str]() for what in ("right", "missed", "extra")}
    for pair in pairs:
        label, answered = (set(store.labelling.classes_of(pair[name])) for name in ("label", "answered"))
        for what, names in {"right": label & answered, "missed": label - answered, "extra": answered - label}.items():
            counts[what].update(dict.fromkeys(names, pair["texts"]))
    found = {name for each in counts.values() for name in each}
    named = [name for name in store.classes if name in found]
    return [{"name": name} | {what: each[name] for what, each in counts.items()} for name in named]


def _rows(store: Store, viewer: Viewer | None, where: str, *values: Any) -> list[dict[str, Any]]:
    rows = store.rows(f"{_SHOWN} WHERE {where}", *_seen_by(store, viewer), *values)
    return [{**row, "beside": row["beside"] and json.loads(row["beside"])} for row in rows]


def _seen_by(store: Store, viewer: Viewer | None) -> tuple[str, bool, bool]:
    if viewer is None:
        return "", False, False
    return viewer.who, viewer.blind, bool(store.facts.get("twice"))


def _condition(search: Search) -> tuple[str, list[str]]:
    """Return the condition of a search in SQL, and its values."""
    where, values, without = [_STATES[search.state]], list[str](), {"missed": search.label, "extra": search.answered}
    if search.state in without:
        if (name := without[search.state]) is None:
            raise UsageError(f"choose the class under {'Class' if search.state == 'missed' else 'Answered'}")
        values.append(name)
    for phrase, word in re.findall(r'"([^"]+)"|(\S+)', search.words):
        where.append("holds(t.text, t.beside, ?)")
        values.append((phrase or word).casefold())
    if search.label is not None:
        where.append("is_among(coalesce(c.label, s.label), ?)")
        values.append(search.label)
    if search.answered is not None:
        where.append("is_among(u.answered, ?)")
        values.append(search.answered)
    return " AND ".join(where), values


_GROUPS_SHOWN = 5


def weak_groups(store: Store, viewer: Viewer) -> list[dict[str, Any]]:
    """Return the slices of the texts with a label that have significantly more errors, the most certain first.

    `words` is a search that finds their errors, or null. Numbers have no groups here; the report lists them.
    """
    rows = [] if store.labelling.panel == "number" else unseen_rows(store, viewer)
    if not rows:
        return []
    beside = [json.loads(row["beside"] or "{}") for row in rows]
    columns = pl.DataFrame(
        [pl.Series(name, [each.get(name) for each in beside], pl.String) for name in store.facts.get("columns", ())]
    )
    right = np.array([not row["wrong"] for row in rows])
    found = find_slices([row["text"] for row in rows], right, columns)
    return [
        {
            "name": slice_name(each),
            "texts": each.rows,
            "wrong": 1 - each.accuracy.value,
            "wrong_of_rest": 1 - each.accuracy_of_rest,
            "words": _search(each, store, viewer),
        }
        for each in found.listed
        if each.corrected_p < SIGNIFICANCE
    ][:_GROUPS_SHOWN]


def _search(found: Slice, store: Store, viewer: Viewer) -> str | None:
    """Return a search for the errors of a slice. None if they are not found so: it is a range, or has odd letters."""
    words, errors = f'"{found.value}"', round(found.rows * (1 - found.accuracy.value))
    if found.kind == "length" or len(words) > LONGEST_NAME:
        return None
    search = Search(who=viewer.who, blind=viewer.blind, state="wrong", words=words)
    return words if number_found(store, search) >= errors else None
