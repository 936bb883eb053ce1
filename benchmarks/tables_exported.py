"""The tables of docs/how-to/export.md, from benchmarks/results/installation.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown


def installation_tables(found: Document) -> Iterator[str]:
    """Return how much disk each distribution takes."""
    heads = ("distribution", "packages", "MB on disk", "the largest packages, MB")
    yield markdown(
        [
            heads,
            *(
                (
                    f"`{name}`",
                    f"{found[name]['packages']}",
                    f"{found[name]['megabytes']:,.0f}",
                    ", ".join(f"{package} {size:,.0f}" for package, size in found[name]["largest"].items()),
                )
                for name in ("glassformer", "glassformer-light")
            ),
        ]
    )
