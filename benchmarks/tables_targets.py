"""The tables of docs/how-it-works/targets.md, from benchmarks/results/targets.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval, over_seeds_and_rows, span
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short

SHOWN = 0.9  # of the intervals, those that should hold this share
_NAMES = {
    "ordered": "cumulative logits",
    "classes": "a score for each class",
    "ordered, the transformer alone": "cumulative logits, the transformer alone",
    "classes, the transformer alone": "a score for each class, the transformer alone",
    "TF-IDF + logistic regression": "TF-IDF + logistic regression",
}


def targets_tables(found: Document) -> Iterator[str]:
    """Yield a table of numbers, one of intervals and one of ordered classes."""
    yield "Numbers:"
    head = ("table", "", "R²", "mean absolute error", "Spearman", "R² of the model − of ridge")
    rows = [
        (
            f"`{line['table']}`" if who == "model" else "",
            {"model": "glassformer", "ridge": "TF-IDF + ridge regression"}[who],
            short(line[who]["r2"]),
            f"{line[who]['mae']:.3f}",
            short(line[who]["spearman"]),
            interval(line["difference_in_r2"], signed) if who == "model" else "",
        )
        for line in found["numbers"]
        for who in ("model", "ridge")
    ]
    yield markdown([head, *rows])
    yield "Intervals:"
    heads = ("table", "should hold", "half width", "hold", "seeds from, to")
    lines = [
        (
            f"`{line['table']}`" if number == 0 else "",
            f"{each['asked']:.0%}",
            f"{each['distance']:.2f}",
            interval(each["coverage"]),
            f"{short(min(each['of_seeds']))}, {short(max(each['of_seeds']))}",
        )
        for line in found["numbers"]
        for number, each in enumerate(found for found in line["intervals"] if found["asked"] == SHOWN)
    ]
    yield markdown([heads, *lines])
    yield "Ordered classes:"
    top = ("table", "", "accuracy", "mean distance", "Spearman", "kappa")
    cells = [
        (
            f"`{line['table']}`, {line['classes']} classes" if number == 0 else "",
            name,
            short(line["figures"][who]["accuracy"]),
            f"{line['figures'][who]['distance']:.3f}",
            short(line["figures"][who]["spearman"]),
            short(line["figures"][who]["kappa"]),
        )
        for line in found["ordered"]
        for number, (who, name) in enumerate(_NAMES.items())
    ]
    yield markdown([top, *cells])
    for line in found["ordered"]:
        of = line["difference_in_distance"]
        yield (
            f"`{line['table']}`: with cumulative logits, the mean distance changes by {interval(of['both'], signed)}; "
            f"that of the transformer alone by {interval(of['transformer'], signed)}."
        )
    of_rows = "; ".join(
        f"`{line['table']}` {span(line['training_rows'])}, {line['test_rows']:,}"
        for line in (*found["numbers"], *found["ordered"])
    )
    yield f"{over_seeds_and_rows(found)}. Training rows and test rows: {of_rows}."
