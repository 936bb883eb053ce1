"""The routes about texts: the next one, decisions, undoing them, searching, texts that are alike, doubtful labels."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

import polars as pl
from fastapi import FastAPI, Query

from glassformer.desk.choosing import next_text, word_vectors
from glassformer.desk.classes import give
from glassformer.desk.inputs_read import InputsRead
from glassformer.desk.people import disagreements
from glassformer.desk.project import Project
from glassformer.desk.rounds import Rounds
from glassformer.desk.schema import GIVEN, Decision
from glassformer.desk.shapes import MOST_AT_ONCE, Decided, Named, Search, SearchPage, Viewer
from glassformer.desk.shown import answers_shown, found, labelled_for, number_found, repeats_for, text_for, weak_groups
from glassformer.desk.store import Store
from glassformer.errors import UsageError

_FOR_ALL = ("settle", "doubt", "class")  # one person decides for all; so it is for the repeats
_PAGE, _ALIKE, _ALIKE_LABELLED, _LEAST_ALIKE = 50, 50, 5, 0.1
_Who = Annotated[str, Query(max_length=200)]


def add_labelling(app: FastAPI, project: Project, rounds: Rounds) -> None:
    store = project.store

    @app.get("/desk/next")
    def upcoming(who: _Who, leaving: int | None = None, *, blind: bool = False) -> dict[str, Any]:
        """Return the text to label next. None if nothing is left."""
        coming = next_text(store, who, leaving=leaving)
        viewer = Viewer(who=who, blind=blind)
        return {"text": coming and text_for(store, coming["id"], viewer) | {"way": coming["way"]}}

    @app.get("/desk/texts/{number}")
    def one(number: int, who: _Who = "", *, blind: bool = False) -> dict[str, Any]:
        """Return a text, and what was decided about it, unless that would sway this person."""
        return {"text": text_for(store, number, Viewer(who=who, blind=blind))}

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
        if body.beside and label is not None:
            batch = give(store, replace(decision, texts=[*texts, *repeats]), instead=body.instead)
        else:
            batch = store.decide(
                decision, replace(decision, texts=repeats, way=body.way if body.way in _FOR_ALL else "repeat")
            )
        return {"batch": batch, "texts": len(texts), "repeats": len(repeats), "round": rounds.begin_if_due()}

    @app.post("/desk/undo")
    def undo(body: Named) -> dict[str, Any]:
        """Undo the last decision of a person, and return the first text of it, and whether classes are others now."""
        before = store.classes
        texts = store.undo(body.who)
        text = text_for(store, texts[0], body) | {"way": "search"} if texts else None
        return {"texts": len(texts), "text": text, "classes": store.classes != before}


def add_looking(app: FastAPI, store: Store) -> None:

    @app.get("/desk/texts")
    def search(asked: Annotated[SearchPage, Query()]) -> dict[str, Any]:
        """Return the texts that a search finds, a page at a time."""
        texts = found(store, asked, page=(_PAGE, asked.page * _PAGE))
        return {"total": number_found(store, asked), "page": asked.page, "per_page": _PAGE, "texts": texts}

    @app.get("/desk/repeats")
    def repeats(
        texts: Annotated[list[int], Query(max_length=MOST_AT_ONCE)], who: _Who = "", *, blind: bool = False
    ) -> dict[str, Any]:
        """Return how many other rows have the same text as one of these, and their labels."""
        return repeats_for(store, texts, Viewer(who=who, blind=blind))

    @app.get("/desk/alike/{number}")
    def alike(number: int, who: _Who = "", *, blind: bool = False) -> dict[str, Any]:
        """Return the texts that are most like this one, by the words that both have: without a label, and with one.

        From the latter, a model learned what it says of this text.
        """
        labelled = store.labelled()
        shown = [row["id"] for row in labelled_for(store, Viewer(who=who, blind=blind), labelled["id"].to_list())]
        return {
            "texts": _alike(store, number, store.unlabelled(), _ALIKE),
            "labelled": _alike(store, number, labelled.filter(pl.col("id").is_in(shown)), _ALIKE_LABELLED),
        }

    @app.get("/desk/unseen")
    def unseen(who: _Who = "", *, blind: bool = False) -> dict[str, Any]:
        """Count the answers to texts with a label that the model of the last round had not learned."""
        return answers_shown(store, Viewer(who=who, blind=blind))

    @app.get("/desk/groups")
    def groups(who: _Who = "", *, blind: bool = False) -> dict[str, Any]:
        """Return the groups of these texts that have more errors than the others."""
        return {"groups": weak_groups(store, Viewer(who=who, blind=blind))}

    @app.get("/desk/doubts")
    def doubts() -> dict[str, Any]:
        """Return the labels that the last check doubts, most doubtful first, and of how many nothing is doubted since.

        `other` is the text whose label contradicts it, if there is one. If that was changed, nothing is doubted.
        """
        doubted, found, renames = [], store.facts.get("doubts", []), store.renames
        for doubt in found:
            batch = doubt.pop("batch", 0)
            for name in ("label", "suggested", "other_label"):
                if doubt.get(name) is not None:
                    doubt[name] = renames.present(doubt[name], batch)
            now = text_for(store, doubt["id"], None)
            other = text_for(store, doubt["other"], None) if "other" in doubt else None
            is_open = now["label"] == doubt["label"] and now["way"] != "doubt"
            if is_open and (other is None or other["label"] == doubt["other_label"]):
                doubted.append(doubt | {"text": now, "other": other})
        return {"doubts": doubted, "settled": len(found) - len(doubted)}

    @app.get("/desk/disagreements")
    def different() -> dict[str, Any]:
        """Return the texts to which people gave different labels."""
        return {"disagreements": disagreements(store)}


def _meant(store: Store, body: Decided) -> list[int]:
    """Return the texts that a decision is about."""
    if (body.texts is None) == (body.found is None):
        raise UsageError("a decision is about `texts`, or about all that are `found`")
    if body.texts is None:
        if not (meant := [row["id"] for row in found(store, body.found or Search())]):
            raise UsageError("the search finds no text any more; search again")
        return meant
    texts = list(dict.fromkeys(body.texts))
    if store.value(f"SELECT count(*) FROM texts WHERE id IN {GIVEN}", json.dumps(texts)) < len(texts):
        raise UsageError("one of these texts is not in the project; load the page again")
    return texts


def _alike(store: Store, number: int, others: pl.DataFrame, most: int) -> list[dict[str, Any]]:
    given = text_for(store, number, None)
    if others.height < 2:
        return []
    inputs = InputsRead.of(store.facts)
    vectors = word_vectors(
        [*inputs.words(others), "\n".join(filter(None, [given["text"], *(given["beside"] or {}).values()]))]
    )
    likeness = (vectors[:-1] @ vectors[-1].T).toarray()[:, 0]
    order = [place for place in (-likeness).argsort(kind="stable")[: most + 1] if likeness[place] >= _LEAST_ALIKE]
    rows = others.drop("row", "beside", "draw", "way", strict=False).to_dicts()
    return [rows[place] for place in order if rows[place]["id"] != number][:most]
