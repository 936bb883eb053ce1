"""The tables of the English body in docs/how-it-works/few-labels.md, from results/body.json and unlabelled.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown, short


def body_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies, and how they were measured."""
    lines = found["lines"]
    names = list(lines[0]["contestants"])
    both = names[-1]
    yield markdown([("table", "rows of each class", *names), *(_cells(line, both) for line in lines)])
    better = [line for line in lines if line["contestants"][both]["over_counting"]["low"] > 0]
    worse = [line for line in lines if line["contestants"][both]["over_counting"]["high"] < 0]
    yield (
        "Official test rows; means over three draws, or one that learned all rows. With the body, "
        f"{len(better)} of {len(lines)} lines are significantly better than by counting (↑), and {len(worse)} worse "
        "(↓): 95% intervals over the test rows."
    )


def _cells(line: Document, both: str) -> tuple[str, ...]:
    accuracies = {name: each["accuracy"]["value"] for name, each in line["contestants"].items()}
    best = max(accuracies.values())
    shown = [f"**{short(value)}**" if value == best else short(value) for value in accuracies.values()]
    above = line["contestants"][both]["over_counting"]
    return (f"`{line['table']}`", str(line["per_class"] or "all"), *shown[:-1], shown[-1] + _sign(above))


def _sign(difference: Document) -> str:
    return " ↑" if difference["low"] > 0 else " ↓" if difference["high"] < 0 else ""


def unlabelled_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies without and with unlabelled texts, and how they were measured."""
    lines = found["lines"]
    cells: dict[str, dict[int, str]] = {}
    for line in lines:
        without, with_texts = [short(each["accuracy"]["value"]) for each in line["contestants"].values()][-2:]
        shown = f"{without} → {with_texts}{_sign(line['over_without'])}"
        cells.setdefault(line["table"], {})[line["per_class"]] = shown
    sizes = sorted({line["per_class"] for line in lines})
    texts = {line["table"]: line["unlabelled_texts"] for line in reversed(lines)}
    yield markdown(
        [
            (
                "table",
                "unlabelled texts",
                *(f"{size} rows of each class" if size == sizes[0] else str(size) for size in sizes),
            ),
            *(
                (f"`{table}`", f"{texts[table]:,}", *(row.get(size, "") for size in sizes))
                for table, row in cells.items()
            ),
        ]
    )
    better, worse = (sum(_sign(line["over_without"]) == sign for line in lines) for sign in (" ↑", " ↓"))
    yield (
        f"Official test rows, means over three draws. {better} of {len(lines)} are significantly better (↑), and "
        f"{worse} worse (↓): 95% intervals over the test rows."
    )
