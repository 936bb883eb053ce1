"""Several people: how far they agree, and the texts about which they do not."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

from sklearn.metrics import cohen_kappa_score

from glassformer.desk.store import Store


def labels_by_person(store: Store) -> dict[int, dict[str, str]]:
    """Return the last label of each person for each text that two or more have labelled, before anyone settled it."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for row in store.rows("SELECT text, who, label FROM opinions ORDER BY text, who"):
        found[row["text"]][row["who"]] = row["label"]
    return {text: labels for text, labels in found.items() if len(labels) > 1}


def disagreements(store: Store) -> list[dict[str, Any]]:
    """Return the texts with different labels that nobody has settled: id, text, and each person's label and note."""
    rows = store.rows(
        "SELECT t.id, t.text, o.who, o.label, o.note FROM disputed d JOIN texts t ON t.id = d.text "
        "JOIN opinions o ON o.text = t.id ORDER BY t.id, o.who"
    )
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        text = found.setdefault(row["id"], {"id": row["id"], "text": row["text"], "labels": []})
        text["labels"].append({"who": row["who"], "label": row["label"], "note": row["note"]})
    return list(found.values())


def agreement(store: Store) -> dict[str, Any] | None:
    """Return how far people agree: Krippendorff's alpha of all, and for each two of them Cohen's kappa.

    Both are 1 if they always agree, and about 0 if they agree as often as by chance (Cohen 1960; Krippendorff 2011,
    "Computing Krippendorff's Alpha-Reliability", nominal data). None if no text was labelled by two people; a figure is
    None if all labels are the same.
    """
    by_text = labels_by_person(store)
    if not by_text:
        return None
    people = sorted({who for labels in by_text.values() for who in labels})
    pairs = []
    for one, other in combinations(people, 2):
        both = [(labels[one], labels[other]) for labels in by_text.values() if one in labels and other in labels]
        if both:
            first, second = zip(*both, strict=True)
            kappa = None if len({*first, *second}) == 1 else float(cohen_kappa_score(first, second))
            same = sum(left == right for left, right in both)
            pairs.append({"people": [one, other], "texts": len(both), "same": same, "kappa": kappa})
    return {
        "texts": len(by_text),
        "alpha": alpha([list(labels.values()) for labels in by_text.values()]),
        "pairs": pairs,
    }


def alpha(units: list[list[str]]) -> float | None:
    """Return Krippendorff's alpha of nominal labels, or None if all are the same.

    Args:
        units: the labels of each text, two or more.
    """
    totals = Counter(label for unit in units for label in unit)
    values = totals.total()
    expected = values**2 - sum(count**2 for count in totals.values())
    if not expected:
        return None
    observed = sum(
        (len(unit) ** 2 - sum(count**2 for count in Counter(unit).values())) / (len(unit) - 1) for unit in units
    )
    return 1 - (values - 1) * observed / expected
