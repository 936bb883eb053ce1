"""The table of docs/how-to/many-processes.md, from benchmarks/results/many-processes.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown


def processes_tables(found: Document) -> Iterator[str]:
    """Return how many texts are trained on per second."""
    heads = ("texts", "processes", "threads of each", "texts per second", "slowest–fastest round")
    yield markdown(
        [
            heads,
            *(
                (
                    f"{row['rows']:,} of `{row['data']}`",
                    str(way["processes"]),
                    str(way["threads"]),
                    f"{way['texts_per_second']['value']:,.0f}",
                    f"{way['texts_per_second']['low']:,.0f}–{way['texts_per_second']['high']:,.0f}",
                )
                for row in found["trained"]
                for way in row["ways"]
            ),
        ]
    )
