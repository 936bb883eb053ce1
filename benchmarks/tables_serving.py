"""The tables of docs/how-it-works/serving.md about load, from benchmarks/results/serving-load.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown


def serving_tables(found: Document) -> Iterator[str]:
    """Return how fast the servers answer, and what came of hostile requests."""
    yield markdown(
        [
            ("server", "clients", "requests per second", "p50", "p95", "p99"),
            *(
                (
                    row["server"],
                    str(row[crowd]["clients"]),
                    f"{row[crowd]['per_second']:,.0f}",
                    *(f"{row[crowd][part]:.1f} ms" for part in ("p50", "p95", "p99")),
                )
                for crowd in ("many", "one")
                for row in found["servers"]
            ),
        ]
    )
    words, ours, theirs = found["texts"]["words"], found["parameters"], found["parameters_of_pipeline"]
    sooner = sorted(found["sooner"])
    yield (
        f"Medians of {found['rounds']} rounds; with {found['clients']} clients, our p95 came {sooner[0]:.1f} to "
        f"{sooner[-1]:.1f} times as soon as that of the faster pipeline. "
        f"{found['requests']:,} requests with one text of `{found['data']}` each, {words:.0f} words in the median; "
        f"{ours:,} parameters, the pipeline's model {theirs:,}."
    )
    hostile = found["hostile"]
    memory = ", ".join(f"{value:.0f}" for value in hostile["memory_mb"])
    yield (
        f"{hostile['requests']:,} mixed requests of {len(hostile['kinds'])} kinds, some hostile, in "
        f"{hostile['seconds']:,.0f} s by {found['clients']} clients: {hostile['lost']:,} lost, "
        f"{hostile['not_right']:,} answers to one text unlike those of the model alone. Such a request took "
        f"{hostile['p50']:.1f} ms (p50), {hostile['p99']:.1f} ms (p99). Memory at 0, "
        f"25, 50, 75 and 100% of the time: {memory} MB."
    )
