"""The table of docs/how-it-works/labels.md about labelling at the desk, from desk.json in benchmarks/results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.tables_common import Document, seeds_in_words, with_spread
from glassformer.experiments.published.table import markdown


def desk_tables(found: Document) -> Iterator[str]:
    lines, sizes = found["lines"], found["sizes"]
    tables = list(dict.fromkeys(line["table"] for line in lines))
    rows: list[tuple[str, ...]] = []
    for table in tables:
        for way in ("random", "desk"):
            part = [
                {size: accuracy for size, accuracy, _ in line["rounds"]}
                for line in lines
                if (line["table"], line["way"]) == (table, way)
            ]
            as_good = [
                _needed(line, lines, sizes[-1]) for line in lines if (line["table"], line["way"]) == (table, way)
            ]
            rows.append(
                (f"`{table}`", way, *(with_spread([each[size] for each in part]) for size in sizes),
                 "" if way == "random" else ", ".join(as_good))
            )  # fmt: skip
    head = ("table", "texts", *(f"{size:,}" for size in sizes), f"as good as {sizes[-1]:,} random ones with")
    yield markdown([head, *rows])
    seeds = sorted({line["seed"] for line in lines})
    yield (
        f"Accuracy on held-out training rows after so many labels: means over {seeds_in_words(seeds)}, ± the standard "
        "deviation. The last column, by seed: after how many labels, and in which share of their time."
    )


def _needed(line: dict[str, Any], lines: list[dict[str, Any]], most: int) -> str:
    """Return with how many labels a line is as good as the random texts of its table and seed, and in which time."""
    (other,) = [
        each for each in lines if (each["table"], each["seed"], each["way"]) == (line["table"], line["seed"], "random")
    ]
    wanted, of_random = next((accuracy, minutes) for labels, accuracy, minutes in other["rounds"] if labels == most)
    needed = ((labels, minutes) for labels, accuracy, minutes in line["rounds"] if accuracy >= wanted)
    labels, minutes = next(needed, (None, None))
    return "more" if labels is None else f"{labels:,} ({minutes / of_random:.0%})"
