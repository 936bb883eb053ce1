"""The tables of docs/how-it-works/automatic.md, from benchmarks/results/automatic.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval, over_seeds_and_rows, span
from glassformer.experiments.published.table import markdown, short

SHOWN = (0.9, 1.0)
"""The shares that are shown. The result also has those between."""


def automatic_tables(found: Document) -> Iterator[str]:
    """Yield a table of thresholds and one of label sets."""
    lines = found["lines"]
    yield "Automatic answers:"
    head = ("table", "asked", "automatic", "wrong of these", "wrong of held-out rows")
    rows = [
        (
            f"`{line['table']}`" if number == 0 else "",
            f"{each['asked']:.0%}",
            interval(each["coverage"]) if each["asked"] < 1 else short(1.0),
            short(each["error"]),
            short(each["held_out_error"]),
        )
        for line in lines
        for number, each in enumerate(share for share in line["shares"] if share["asked"] in SHOWN)
    ]
    yield markdown([head, *rows])
    yield "Label sets:"
    heads = (
        "table",
        "asked",
        "hold the right label",
        "seeds from, to",
        "labels per set",
        "no label",
        "one label",
    )
    lines_of_sets = [
        (
            f"`{line['table']}`, {line['classes']} labels" if number == 0 else "",
            f"{each['asked']:.0%}",
            interval(each["coverage"]),
            f"{short(min(each['of_seeds']))}, {short(max(each['of_seeds']))}",
            f"{each['mean_size']:.2f}",
            short(each["empty"]),
            short(each["one"]),
        )
        for line in lines
        for number, each in enumerate(sets for sets in line["sets"] if sets["asked"] in SHOWN)
    ]
    yield markdown([heads, *lines_of_sets])
    of_rows = "; ".join(
        f"`{line['table']}` {span(line['training_rows'])}, {span(line['held_out_rows'])}"
        f"{' (cross-fitted)' if line['cross_fitted'] else ''}, {line['test_rows']:,}"
        for line in lines
    )
    yield f"{over_seeds_and_rows(found)}. Training rows, held-out rows and test rows: {of_rows}."
