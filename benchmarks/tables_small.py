"""The table about small tables, from benchmarks/results/small-tables.json."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from benchmarks.tables_common import Document
from glassformer.data.wording import counted
from glassformer.experiments.published.table import markdown, short


def small_tables(found: Document) -> Iterator[str]:
    """Yield a table with a line for so many rows, and how often cross-fitting ended early."""
    answers, limits = found["answers"], sorted({line["drawn"] for line in found["answers"]})
    heads = (
        "rows", "tables", "accuracy", "accuracy if ended early", "largest loss of accuracy", "log loss",
        "if ended early", "processor seconds", "if ended early",
    )  # fmt: skip
    yield markdown([heads, *(_line(limit, [line for line in answers if line["drawn"] == limit]) for limit in limits)])
    ended = [line for line in answers if line["early"]["gave_up"]]
    lost = [line for line in ended if line["whole"]["weights"].get("transformer")]
    yield (
        f"Means over the tables. Cross-fitting ended early in {len(ended)} of {counted(len(answers), 'training')}. In "
        f"{len(lost)} of them, cross-fitting to the end gives the transformer a weight."
    )


def _line(drawn: int, lines: list[Document]) -> tuple[str, ...]:
    def means(name: str) -> list[float]:
        return [mean(line[way][name] for line in lines) for way in ("whole", "early")]

    loss = max(line["whole"]["accuracy"] - line["early"]["accuracy"] for line in lines)
    return (
        f"{drawn:,}", str(len(lines)), *map(short, means("accuracy")), short(loss), *map(short, means("log_loss")),
        *(f"{seconds:.0f}" for seconds in means("processor_seconds")),
    )  # fmt: skip
