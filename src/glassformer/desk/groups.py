"""Groups of texts that the model of the last round answered wrongly more often than the others."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

from glassformer.desk.shapes import LONGEST_NAME, Search, Viewer
from glassformer.desk.shown import number_found, unseen_rows
from glassformer.desk.store import Store
from glassformer.evaluation.slices import find_slices
from glassformer.evaluation.verdict import SIGNIFICANCE, slice_name
from glassformer.evaluation.weak_spots import Slice

_SHOWN = 5


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
    ][:_SHOWN]


def _search(found: Slice, store: Store, viewer: Viewer) -> str | None:
    """Return a search for the errors of a slice. None if they are not found so: it is a range, or has odd letters."""
    words, errors = f'"{found.value}"', round(found.rows * (1 - found.accuracy.value))
    if found.kind == "length" or len(words) > LONGEST_NAME:
        return None
    search = Search(who=viewer.who, blind=viewer.blind, state="wrong", words=words)
    return words if number_found(store, search) >= errors else None
