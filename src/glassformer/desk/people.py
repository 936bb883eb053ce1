"""Several people: who they are, how far they agree, and the texts about which they do not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any

from glassformer.desk.labelling import Difference
from glassformer.desk.store import Store

Differences = Callable[[Counter[str]], Difference]


def people_of(store: Store) -> list[str]:
    """Return who has decided something, and whose name was typed last."""
    found = store.rows("SELECT DISTINCT who FROM decisions WHERE batch > 0 AND giver IS NULL")
    last = store.facts.get("person")
    return sorted({row["who"] for row in found} | ({last} if last else set()))


def labels_by_person(store: Store) -> dict[int, dict[str, str]]:
    """Return the last label of each person for each text that two or more have labelled, before anyone settled it.

    The rows with the same text count as one: they were labelled together.
    """
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for row in store.rows("SELECT t.same, o.who, o.label FROM opinions o JOIN texts t ON t.id = o.text ORDER BY t.id"):
        found[row["same"]][row["who"]] = row["label"]
    return {text: labels for text, labels in found.items() if len(labels) > 1}


def disagreements(store: Store) -> list[dict[str, Any]]:
    """Return the texts with different labels that nobody has settled: id, text, and each person's label and note."""
    rows = store.rows(  # SQLite would compare each text with all opinions
        "WITH given AS MATERIALIZED (SELECT text, who, label, note FROM opinions) "
        "SELECT t.id, t.text, t.same, o.who, o.label, o.note FROM given o JOIN texts t ON t.id = o.text "
        "WHERE t.id IN (SELECT text FROM disputed) ORDER BY t.id, o.who"
    )
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        text = found.setdefault(row["same"], {"id": row["id"], "text": row["text"], "labels": []})
        if text["id"] == row["id"]:  # the other rows with the same text have the same labels
            text["labels"].append({"who": row["who"], "label": row["label"], "note": row["note"]})
    return list(found.values())


def agreement(store: Store) -> dict[str, Any] | None:
    """Return how far people agree: Krippendorff's alpha of all, and for each two of them Cohen's kappa.

    Both are 1 if they always agree, and about 0 if they agree as often as by chance. None if no text was labelled by
    two people; a figure is None if all labels are the same.
    """
    by_text = labels_by_person(store)
    if not by_text:
        return None
    classes = list(dict.fromkeys([*store.classes, *(label for each in by_text.values() for label in each.values())]))

    def difference(totals: Counter[str]) -> Difference:
        return store.labelling.difference(totals, classes)

    people = sorted({who for labels in by_text.values() for who in labels})
    pairs = []
    for one, other in combinations(people, 2):
        if both := [(labels[one], labels[other]) for labels in by_text.values() if {one, other} <= labels.keys()]:
            same = sum(left == right for left, right in both)
            figure = kappa(both, difference)
            pairs.append({"people": [one, other], "texts": len(both), "same": same, "kappa": figure})
    return {
        "texts": len(by_text),
        "alpha": alpha([list(labels.values()) for labels in by_text.values()], difference),
        "pairs": pairs,
    }


def kappa(both: Sequence[tuple[str, str]], difference: Differences) -> float | None:
    """Return Cohen's kappa of two people, weighted by the differences of labels (Cohen 1968). None if all are the same.

    Args:
        both: the labels of each text.
        difference: given how often each label occurs, the difference of two.
    """
    first, second = (Counter(labels) for labels in zip(*both, strict=True))
    between = difference(first + second)
    observed = sum(between(*labels) for labels in both) / len(both)
    expected = sum(n * m * between(one, other) for one, n in first.items() for other, m in second.items())
    return 1 - observed * len(both) ** 2 / expected if expected else None


def alpha(units: list[list[str]], difference: Differences) -> float | None:
    """Return Krippendorff's alpha (2011, "Computing Krippendorff's Alpha-Reliability"), or None if all are the same.

    Args:
        units: the labels of each text, two or more.
        difference: given how often each label occurs, the difference of two.
    """
    totals = Counter(label for unit in units for label in unit)
    between = difference(totals)
    expected = sum(n * m * between(one, other) for one, n in totals.items() for other, m in totals.items())
    if not expected:
        return None
    observed = sum(sum(between(*pair) for pair in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    return 1 - (totals.total() - 1) * observed / expected
