"""How good the model is, by the texts that were drawn at random: each was answered before anybody labelled it."""

from __future__ import annotations

from typing import Any

from glassformer.desk.store import Store
from glassformer.evaluation.intervals import wilson

_RECENT = 100  # texts: older ones tell of older models
_THRESHOLDS = (0.0, *(step / 20 for step in range(6, 20)), 0.97, 0.99)

_OF_RANDOM = (
    "SELECT round, label = suggested AS right, probability FROM decisions d WHERE undone IS NULL AND batch > 0 "
    "AND kind = 'label' AND way = 'random' AND NOT shown AND suggested IS NOT NULL "
    "AND id = (SELECT min(id) FROM decisions f WHERE f.text = d.text AND f.undone IS NULL AND f.batch > 0) "
    "ORDER BY id DESC"
)


def measured(store: Store) -> dict[str, Any] | None:
    """Return the share of right answers among the last texts drawn at random, with its 95% interval (Wilson 1927).

    The suggestion was hidden from the person, and the model had not seen the label. Texts that the model chose do not
    count: they are harder. None if there is no such text.
    """
    found = store.rows(f"{_OF_RANDOM} LIMIT {_RECENT}")
    if not found:
        return None
    right = sum(row["right"] for row in found)
    estimate = wilson(right, len(found))
    return {"right": right, "of": len(found), "value": estimate.value, "low": estimate.low, "high": estimate.high}


def by_round(store: Store) -> dict[int, dict[str, Any]]:
    """Return the same for the model of each round, by its number."""
    found: dict[int, list[int]] = {}
    for row in store.rows(_OF_RANDOM):
        found.setdefault(row["round"], []).append(row["right"])
    estimates = {number: wilson(sum(right), len(right)) for number, right in found.items()}
    return {
        number: {"of": len(found[number]), "value": each.value, "low": each.low, "high": each.high}
        for number, each in estimates.items()
    }


def swayed(store: Store) -> dict[str, Any] | None:
    """Return how often labels agree with suggestions that were shown, and with those that were hidden.

    Only texts that the model chose count, so both kinds of texts are alike. None unless there are some of both.
    """
    found = store.rows(
        "SELECT shown, count(*) AS texts, sum(label = suggested) AS same FROM decisions WHERE undone IS NULL AND "
        "batch > 0 AND kind = 'label' AND way = 'unsure' AND suggested IS NOT NULL GROUP BY shown"
    )
    if len(found) < 2:
        return None
    hidden, shown = sorted(found, key=lambda row: row["shown"])
    return {name: {"texts": row["texts"], "same": row["same"]} for name, row in (("hidden", hidden), ("shown", shown))}


def automatic(store: Store) -> list[dict[str, Any]]:
    """Return what a threshold on the probability of an answer brings, by the texts of `measured`.

    Of each threshold: how many answers reach it, how many of these are right, with the interval of their share, and of
    how many texts.
    """
    found = store.rows(f"{_OF_RANDOM} LIMIT {_RECENT}")
    lines = []
    for threshold in _THRESHOLDS:
        reached = [row["right"] for row in found if row["probability"] >= threshold]
        if reached:
            estimate = wilson(sum(reached), len(reached))
            counts = {"reached": len(reached), "right": sum(reached), "of": len(found)}
            lines.append({"threshold": threshold, **counts, "low": estimate.low, "high": estimate.high})
    return lines
