"""The tables of the English body in docs/how-it-works/few-labels.md, from results/body.json and unlabelled.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown, short


def body_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies, and how they were measured."""
    both = list(found["lines"][0]["contestants"])[-1]
    yield from _tables(found, lambda line: line["contestants"][both]["over_counting"])
    better, worse = _significant(found, lambda line: line["contestants"][both]["over_counting"])
    yield (
        "Official test rows; means over three draws, or one that learned all rows. With the body, "
        f"{better} of {len(found['lines'])} lines are significantly better than by counting (↑), and {worse} worse "
        "(↓): 95% intervals over the test rows."
    )


def unlabelled_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies, and how they were measured."""
    yield from _tables(found, lambda line: line["over_without"])
    better, worse = _significant(found, lambda line: line["over_without"])
    texts = {line["table"]: line["unlabelled_texts"] for line in reversed(found["lines"])}
    sizes = "; ".join(f"`{table}` {number:,}" for table, number in reversed(texts.items()))
    yield (
        f"Official test rows; means over three draws. With unlabelled texts, {better} of {len(found['lines'])} lines "
        f"are significantly better than without (↑), and {worse} worse (↓): 95% intervals over the test rows. "
        f"Unlabelled texts, with 8 rows of each class: {sizes}."
    )


_Gain = Callable[[Document], Document]


def _tables(found: Document, gain: _Gain) -> Iterator[str]:
    names = list(found["lines"][0]["contestants"])
    yield markdown([("table", "rows of each class", *names), *(_cells(line, names, gain) for line in found["lines"])])


def _significant(found: Document, gain: _Gain) -> tuple[int, int]:
    gains = [gain(line) for line in found["lines"]]
    return sum(each["low"] > 0 for each in gains), sum(each["high"] < 0 for each in gains)


def _cells(line: Document, names: list[str], gain: _Gain) -> tuple[str, ...]:
    accuracies = {name: each["accuracy"]["value"] for name, each in line["contestants"].items()}
    best = max(accuracies.values())
    shown = {name: f"**{short(value)}**" if value == best else short(value) for name, value in accuracies.items()}
    above = gain(line)
    sign = " ↑" if above["low"] > 0 else " ↓" if above["high"] < 0 else ""
    cells = [shown.get(name, "") for name in names]
    return (f"`{line['table']}`", str(line["per_class"] or "all"), *cells[:-1], cells[-1] + sign)
