"""How good the model is, by the texts drawn at random: each was answered before anybody labelled it.

And which answers a person should see: what was chosen at the desk, as models and commands take it.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from glassformer.desk.labelling import Figure
from glassformer.desk.store import Store
from glassformer.errors import UsageError
from glassformer.prediction.answering import Answering

_RECENT = 100  # texts: older ones tell of older models
_THRESHOLDS = (0.0, *(step / 20 for step in range(6, 20)), 0.97, 0.99)

_OF_RANDOM = (
    "SELECT text, batch, round, label, suggested, probability FROM decisions d WHERE undone IS NULL AND batch > 0 "
    "AND kind = 'label' AND way = 'random' AND NOT shown AND suggested IS NOT NULL "
    "AND id = (SELECT min(id) FROM decisions f WHERE f.text = d.text AND f.undone IS NULL AND f.batch > 0) "
    "ORDER BY id DESC"
)


def measured(store: Store) -> dict[str, Any] | None:
    """Return how good the suggestions for the last texts drawn at random were, in words, and of how many texts.

    The words name the rounds whose models made them: the model of the last round may not be among them yet. The
    suggestion was hidden from the person, and the model had not seen the label. Texts that the model chose do not
    count: they are harder. None if there is no such text.
    """
    rows = store.rows(f"{_OF_RANDOM} LIMIT {_RECENT}")
    if not rows:
        return None
    first, last = rows[-1]["round"], rows[0]["round"]
    models = f"the model of round {last} was" if first == last else f"the models of rounds {first} to {last} were"
    return {"said": f"{models} {store.labelling.figure(_pairs(store, rows)).said}", "of": len(rows)}


def by_round(store: Store, rounds: Sequence[Mapping[str, Any]]) -> dict[int, Figure]:
    """Return how good the model of each round is on texts drawn at random that were labelled since, by its number.

    Each record keeps in `aside` what its model answered to random texts that had no label yet. Rounds of earlier
    versions have none: for them, only texts count that were labelled before the next round.
    """
    rows, found, known = store.rows(_OF_RANDOM), dict[int, Figure](), {*store.classes}
    present, answered = store.renames.present, _pairs(store, rows)
    for each in rounds:
        named = {text: present(said, each.get("batch", 0)) for text, said in each.get("aside", {}).items()}
        there = {said for said in named.values() if known.issuperset(store.labelling.classes_of(said))}
        aside = {text: said for text, said in named.items() if said in there}  # without classes that are gone
        pairs = [
            (label, aside.get(str(row["text"]), suggested))
            for row, (label, suggested) in zip(rows, answered, strict=True)
            if str(row["text"]) in aside or row["round"] == each["number"]
        ]
        if pairs:
            found[each["number"]] = store.labelling.figure(pairs)
    return found


def _pairs(store: Store, rows: Sequence[sqlite3.Row]) -> list[tuple[str, str]]:
    """Return what a person and the model said, with the present names of the classes."""
    present = store.renames.present
    return [(present(row["label"], row["batch"]), present(row["suggested"], row["batch"])) for row in rows]


def swayed(store: Store) -> dict[str, str] | None:
    """Return how good suggestions seem that were shown, and those that were hidden.

    Only texts that the model chose count, so both kinds of texts are alike. None unless there are some of both.
    """
    rows = store.rows(
        "SELECT batch, shown, label, suggested FROM decisions WHERE undone IS NULL AND batch > 0 AND kind = 'label' "
        "AND way = 'unsure' AND suggested IS NOT NULL"
    )
    hidden, shown = (_pairs(store, [row for row in rows if row["shown"] == at]) for at in (0, 1))
    figure = store.labelling.figure
    return {"hidden": figure(hidden).said, "shown": figure(shown).said} if hidden and shown else None


def automatic(store: Store) -> list[dict[str, Any]]:
    """Return what a threshold on the sureness of an answer brings, by the texts of `measured`, if it has one.

    Of each threshold: how many answers reach it, how good these are in words, how wrong all of them are together, how
    wrong so many are likely to be at `least` and at `most` (null: it cannot be told), and of how many texts. A
    threshold that leaves the same answers as the one before is left out.
    """
    found = store.rows(f"{_OF_RANDOM} LIMIT {_RECENT}")
    known = [row for row in found if row["probability"] is not None]
    lines: list[dict[str, Any]] = []
    for threshold in _THRESHOLDS:
        pairs = _pairs(store, [row for row in known if row["probability"] >= threshold])
        if pairs and not (lines and lines[-1]["reached"] == len(pairs)):
            figure, lost = store.labelling.figure(pairs), sum(store.labelling.loss(*pair) for pair in pairs)
            mean = store.labelling.mean_loss(figure.estimate)
            ends = {name: end * len(pairs) for name, end in (("least", mean.low), ("most", mean.high))}
            lines.append(
                {"threshold": threshold, "reached": len(pairs), "of": len(found), "said": figure.said, "lost": lost}
                | {name: end if math.isfinite(end) else None for name, end in ends.items()}
            )
    return lines


def automatic_share(facts: Mapping[str, Any], predictor: Answering) -> float | None:
    """Return the share of held-out rows whose answers reach the threshold of a project, in whole percents.

    None if no answer does, if no threshold was chosen, or if the model does not know how sure it was of held-out rows.
    """
    reached = sum(each >= facts["threshold"] for each in _confidences(facts, predictor))
    return reached / 100 if reached else None


def asked_of(facts: Mapping[str, Any], predictor: Answering) -> dict[str, float]:
    """Return what is asked of the answers of a model then (see `Target.answers`)."""
    if facts.get("threshold") and "confidence" not in predictor.trained.config.target.columns:
        return {"review_below": facts["threshold"]}
    if not _confidences(facts, predictor):
        return {}
    share = automatic_share(facts, predictor)
    return {"review_below": facts["threshold"] if share is None else predictor.thresholds.rule(share).below}


def _confidences(facts: Mapping[str, Any], predictor: Answering) -> Sequence[float]:
    """Return the lowest confidence of the surest 1%, 2%, … of held-out rows. Empty if no threshold can be told."""
    try:
        return predictor.thresholds.confidence if facts.get("threshold") else ()
    except UsageError:
        return ()
