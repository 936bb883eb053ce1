"""The tables of docs/how-it-works/add.md, from add-rows in benchmarks/results."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from benchmarks.tables_common import Document, seeds_in_words, with_spread
from glassformer.experiments.published.table import markdown

_BETWEEN = "replay 50%"  # measured too, and as expected
_SAID = {"added": "`--add`", "anew": "anew, on all rows"}


def add_tables(found: Document) -> Iterator[str]:
    """Yield the figures of the model, then those of its transformer alone."""
    lines = found["lines"]
    cases = [[line for line in lines if line["case"] == case] for case in dict.fromkeys(line["case"] for line in lines)]
    head = ("case", "trained", "old classes", "new classes", "all")
    yield "**The model**, with both readers: accuracy on test rows, and seconds of training."
    yield markdown([(*head, "seconds"), *_rows(cases, "model")])
    yield "**A transformer without counting**, with shares of the old rows that it learns again:"
    yield markdown([head, *_rows(cases, "transformer")])
    sizes = "; ".join(
        f"{part[0]['case']}: {part[0]['old_rows']:,} and {part[0]['new_rows']:,} rows, {part[0]['test_rows']:,} to test"
        for part in cases
    )
    seeds = seeds_in_words(sorted({line["seed"] for line in lines}))
    yield f"Preset `{found['preset']}`, mean ± standard deviation over {seeds}. Rows of the first seed: {sizes}."


def _rows(cases: list[list[Document]], who: str) -> Iterator[tuple[str, ...]]:
    for part in cases:
        for name in part[0]["runs"][who]:
            if name == _BETWEEN:
                continue
            figures = [line["runs"][who][name] for line in part]
            accuracies = (_over([each[rows] for each in figures]) for rows in ("old", "new", "all"))
            seconds = [f"{mean(each['seconds'] for each in figures):.0f}"] if who == "model" else []
            yield (part[0]["case"] if name == "before" else "", _SAID.get(name, name), *accuracies, *seconds)


def _over(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return with_spread(known) if known else "–"
