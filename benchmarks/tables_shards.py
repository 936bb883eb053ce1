"""The tables of docs/how-it-works/scale.md on shards, from benchmarks/results/bulk-shards.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown

_A_BILLION = 1_000_000_000


def shards_tables(found: Document) -> Iterator[str]:
    """Return the speed of each way to answer the shards."""
    yield markdown(
        [
            (
                "engine",
                "processes",
                "rows per second",
                "cores used",
                "rows per core-second",
                "start",
                "memory of one",
                "a billion rows",
            ),
            *(
                (
                    f"`{way['engine']}`",
                    str(way["processes"]),
                    f"{way['rows_per_second']:,.0f}",
                    f"{way['cores_used']:.2f}",
                    f"{way['rows_per_core_second']:,.0f}",
                    f"{way['start_seconds']:.0f} s",
                    f"{way['most_memory_of_a_process'] / 1e6:,.0f} MB",
                    f"{_A_BILLION / way['rows_per_core_second'] / 3600:,.0f} core-hours",
                )
                for way in found["ways"]
            ),
        ]
    )
    yield (
        f"{found['rows']:,} rows of `{found['data']}` in {found['shards']} shards of "
        f"{found['shard_bytes'] / 1e3:,.0f} kB. "
        f"The start ends with the first finished shard. The load average at the end was "
        f"{found['load_average_at_end']}. "
        f"A billion rows: computed from the rows per core-second; they are about "
        f"{found['shard_bytes'] * found['shards'] / found['rows'] * _A_BILLION / 1e9:,.0f} GB of Parquet."
    )
