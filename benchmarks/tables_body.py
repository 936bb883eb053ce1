"""The table of the English body in docs/how-it-works/few-labels.md, from benchmarks/results/body.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown, short


def body_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies, and how they were measured."""
    lines = found["lines"]
    names = list(lines[0]["contestants"])
    both = names[-1]
    yield markdown([("table", "rows of each class", *names), *(_cells(line, both) for line in lines)])
    better = [line for line in lines if line["contestants"][both]["over_counting"]["low"] > 0]
    worse = [line for line in lines if line["contestants"][both]["over_counting"]["high"] < 0]
    yield (
        "Official test rows; means over three draws, or one that learned all rows. With the body, "
        f"{len(better)} of {len(lines)} lines are significantly better than by counting (↑), and {len(worse)} worse "
        "(↓): 95% intervals over the test rows."
    )


def _cells(line: Document, both: str) -> tuple[str, ...]:
    accuracies = {name: each["accuracy"]["value"] for name, each in line["contestants"].items()}
    best = max(accuracies.values())
    shown = [f"**{short(value)}**" if value == best else short(value) for value in accuracies.values()]
    above = line["contestants"][both]["over_counting"]
    sign = " ↑" if above["low"] > 0 else " ↓" if above["high"] < 0 else ""
    return (f"`{line['table']}`", str(line["per_class"] or "all"), *shown[:-1], shown[-1] + sign)
