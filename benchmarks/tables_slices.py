"""The tables of docs/how-it-works/slices.md, from benchmarks/results/slices.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.tables_common import Document, interval, seeds_in_words, span
from glassformer.experiments.published.table import markdown, short


def slices_tables(found: Document) -> Iterator[str]:
    yield (
        "The slices that were named, and the same slices of later rows. The gap is the accuracy of the others minus "
        "that of the slice:"
    )
    yield markdown(
        [
            ("table", "rows", "slices looked at", "named", "compared later", "worse later", "gap", "gap later"),
            *map(_real, found["real"]),
        ]
    )
    alarms = ", ".join(f"`{line['table']}` {interval(line['alarms'])}" for line in found["nothing_worse"])
    yield f"If no slice is worse, the share of tables in which one is named all the same: {alarms}."
    yield "If the accuracy of one slice falls, how often this slice is named, by the number of its rows:"
    sizes: Sequence[int] = found["sizes"]
    ranges = [f"{low:,} to {high - 1:,} rows" for low, high in pairwise(sizes)]
    falls = [(short(fall), *(_named(found["one_worse"], fall, size) for size in sizes)) for fall in found["falls"]]
    yield markdown([("accuracy falls by", *ranges, f"{sizes[-1]:,} rows or more"), *falls])
    fewest, most = (end(line["trials"] for line in found["one_worse"]) for end in (min, max))
    yield f"First table: {seeds_in_words(found['seeds'])}. Last table: {fewest:,} to {most:,} trials of each cell."


def _real(line: Document) -> tuple[str, ...]:
    rows, looked_at = (span(line[key]) for key in ("rows", "looked_at"))
    counts = (str(sum(line["named"])), str(line["compared"]))
    later = (str(line["worse_later"]), short(line["gap"]), short(line["gap_later"])) if line["compared"] else ("",) * 3
    return (f"`{line['table']}`", rows, looked_at, *counts, *later)


def _named(lines: Sequence[Any], fall: float, size: int) -> str:
    return next((interval(line["named"]) for line in lines if (line["fall"], line["at_least"]) == (fall, size)), "")
