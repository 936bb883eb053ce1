"""The table of docs/counting.md, from benchmarks/results/counting-rows.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown

_HEADINGS = (
    "rows",
    "million characters",
    "seconds of fitting",
    "seconds in all",
    "peak of memory",
    "size of the reader",
)


def counting_tables(found: Document) -> Iterator[str]:
    yield markdown([_HEADINGS, *map(_row, found["lines"])])
    cores, processor = found["machine"]["threads"], found["machine"]["processor"]
    yield (
        f"Runs of {found['words']} words from the training reviews of {found['data']}, on {processor}, threads: "
        f"{cores}. Seconds in all: reading the table, encoding its texts, fitting and saving."
    )


def _row(line: Document) -> tuple[str, ...]:
    return (
        f"{line['rows']:,}",
        f"{line['characters'] / 1e6:.0f}",
        f"{line['fitting_seconds']:.0f}",
        f"{line['whole_seconds']:.0f}",
        f"{line['peak_mib'] / 1024:.1f} GiB",
        f"{line['bytes'] / 1e6:.1f} MB",
    )
