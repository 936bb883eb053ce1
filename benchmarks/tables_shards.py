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
            ("engine", "processes", "rows per second", "cores used", "rows per core-second", "start", "memory of one"),
            *(
                (
                    f"`{way['engine']}`",
                    str(way["processes"]),
                    f"{way['rows_per_second']:,.0f}",
                    f"{way['cores_used']:.2f}",
                    f"{way['rows_per_core_second']:,.0f}",
                    f"{way['start_seconds']:.0f} s",
                    f"{way['most_memory_of_a_process'] / 1e6:,.0f} MB",
                )
                for way in found["ways"]
            ),
        ]
    )
    yield (
        f"{found['rows']:,} rows of `{found['data']}` in {found['shards']} shards of "
        f"{found['shard_bytes'] / 1e3:,.0f} kB. "
        f"The start ends with the first finished shard. The load average at the end was {found['load_average_at_end']}."
    )


def billion_rows(found: Document) -> Iterator[str]:
    """Return the core-hours of a billion rows, and the days that some numbers of cores take."""
    cores = (2, 64, 1_000)
    heads = ("engine", "processes", "core-hours", *(f"on {count:,} cores" for count in cores))
    hours = {(f"`{way['engine']}`", str(way["processes"])): core_hours(way) for way in found["ways"]}
    rows = ((*way, f"{each:,.0f}", *(in_days(each / count) for count in cores)) for way, each in hours.items())
    yield markdown([heads, *rows])
    size = found["shard_bytes"] * found["shards"] / found["rows"]
    yield (
        "Computed from the rows per core-second above, as if each core were free for this work. A billion such rows "
        f"are about {size * _A_BILLION / 1e9:,.0f} GB of Parquet. The cost is the core-hours, times the price of a "
        "core-hour where you compute."
    )


def core_hours(way: Document) -> float:
    """Return the hours of one core for a billion rows."""
    return _A_BILLION / float(way["rows_per_core_second"]) / 3600


def in_days(hours: float) -> str:
    """Format a duration: "3.2 days", "5.1 hours", "12 minutes"."""
    if hours < 1:
        return f"{hours * 60:.0f} minutes"
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} hours"
