"""The tables of docs/scale.md on shards, from benchmarks/results/bulk-shards.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown

_A_BILLION = 1_000_000_000


def shards_tables(found: Document) -> Iterator[str]:
    """Return the speed of each way to answer the shards."""
    yield markdown(
        [
            ("model", "engine", "processes × threads", "rows per second", "start", "peak memory of the command"),
            *(
                (
                    model_of(way),
                    f"`{way['engine']}`",
                    f"{way['processes']} × {way['threads']}",
                    f"{way['rows_per_second']:,.0f}",
                    f"{way['start_seconds']:.0f} s",
                    f"{way['peak_bytes_of_a_command'] / 1e6:,.0f} MB",
                )
                for way in found["ways"]
            ),
        ]
    )
    yield (
        f"{found['rows']:,} rows of `{found['data']}` in {found['shards']} shards of "
        f"{found['shard_bytes'] / 1e3:,.0f} kB. Workers of Ray need memory besides."
    )


def billion_rows(found: Document) -> Iterator[str]:
    """Return the core-hours of a billion rows, and the days that some numbers of cores take."""
    cores = (2, 64, 1_000)
    yield markdown(
        [
            ("model", "engine", "rows per second and core", "core-hours", *(f"on {count:,} cores" for count in cores)),
            *(
                (
                    model_of(way),
                    f"`{way['engine']}`, {way['processes']} × {way['threads']}",
                    f"{way['rows_per_second_per_core']:,.0f}",
                    f"{core_hours(way):,.0f}",
                    *(in_days(core_hours(way) / count) for count in cores),
                )
                for way in found["ways"]
            ),
        ]
    )
    size = found["shard_bytes"] * found["shards"] / found["rows"]
    yield (
        f"Computed from the speeds above, as if they grew with the cores. A billion such rows are about "
        f"{size * _A_BILLION / 1e9:,.0f} GB of Parquet. The cost is the core-hours, times the price of a core-hour "
        "where you compute."
    )


def core_hours(way: Document) -> float:
    """Return the hours of one core for a billion rows."""
    return _A_BILLION / float(way["rows_per_second_per_core"]) / 3600


def in_days(hours: float) -> str:
    """Format a duration: "3.2 days", "5.1 hours"."""
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} hours"


def model_of(way: Document) -> str:
    """Return the model in words."""
    return "exported as int8" if way["model"] == "onnx-int8" else "model folder"
