"""The tables of docs/how-it-works/few-labels.md, from benchmarks/results/few-labels.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown, short


def few_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies, and how they were measured."""
    lines = found["lines"]
    names = list(dict.fromkeys(name for line in lines for name in line["contestants"]))
    yield "Accuracy on the test rows, means over the draws:"
    most = max(_of_draws(lines, name)[0] for name in names)
    everywhere = [name for name in names if _of_draws(lines, name)[0] == most]
    yield markdown([("table", "rows of each class", *everywhere), *(_accuracies(line, everywhere) for line in lines)])
    draws = "; ".join(f"{name} {_draws(lines, name)}" for name in names)
    test_rows = {line["table"]: line["test_rows"] for line in lines}
    sizes = "; ".join(f"`{table}` {rows:,}" for table, rows in test_rows.items())
    pretrained = f" Pre-training: {found['seconds']} seconds on all other training texts, without their labels."
    yield (f"Draws: {draws}. Test rows: {sizes}.{pretrained if any('pre-trained' in name for name in names) else ''}")


def _of_draws(lines: list[Document], name: str) -> tuple[int, int]:
    """Return on how many draws a contestant was measured: the fewest and the most of all lines."""
    counts = [len(line["contestants"].get(name, {"of_draws": ()})["of_draws"]) for line in lines]
    return min(counts), max(counts)


def _draws(lines: list[Document], name: str) -> str:
    """Write the number of draws: "3", or "0 to 1"."""
    fewest, most = _of_draws(lines, name)
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"


def _accuracies(line: Document, names: list[str]) -> tuple[str, ...]:
    """Return the accuracies of those that were measured on all draws: another draw is easier or harder."""
    contestants = line["contestants"]
    draws = max(len(each["of_draws"]) for each in contestants.values())
    whole = {name: each for name, each in contestants.items() if len(each["of_draws"]) == draws}
    best = max(each["accuracy"]["value"] for each in whole.values())

    def cell(name: str) -> str:
        if name not in whole:
            return ""
        value = whole[name]["accuracy"]["value"]
        return f"**{short(value)}**" if value == best else short(value)

    return (f"`{line['table']}`", str(line["per_class"]), *map(cell, names))
