"""The sentence of docs/how-to/recipes-and-data.md on messes, from benchmarks/results/messes.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document


def messes_tables(found: Document) -> Iterator[str]:
    """Return how many messes are read, and how many are refused, as they should be."""
    refused = sum("refused" in each and each["right"] for each in found["each"])
    yield (
        f"Of {found['messes']} messes in small tables, {found['right'] - refused} are read as meant, and {refused} "
        "refused with the place and the remedy."
    )
