"""The tables of docs/log.md on costs and on later rows, from costs.json and later-rows.json in benchmarks/results."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval, seeds_in_words
from glassformer.experiments.published.table import markdown, short


def costs_tables(found: Document) -> Iterator[str]:
    """Yield what a test row costs, for each way to answer, and what the costs save."""
    ways = ("most_probable", "by_cost", "with_a_person", "class_weights", "class_weights_by_cost")
    rows = []
    for line in found["lines"]:
        cells = {way: interval(line["ways"][way]) for way in ways}
        cells["with_a_person"] += f", asked {line['asked']:.0%}"
        table = (
            f"`{line['data']}`, {line['label']} {line['cost']:g} ({line['share']:.0%} of rows), {line['answers_by']}"
        )
        rows.append((table, *cells.values()))
    head = ("rows, costly label", "most probable", "by cost", "by cost, with a person",
            "class weights = costs, most probable", "class weights, then by cost")  # fmt: skip
    yield markdown([head, *rows])
    saved, against, lost = (
        ", ".join(texts)
        for texts in (
            [interval(line["ways"]["saved"]) for line in found["lines"]],
            [interval(line["ways"]["class_weights_minus_by_cost"]) for line in found["lines"]],
            [short(line["accuracy"] - line["accuracy_of_class_weights"]) for line in found["lines"]],
        )
    )
    yield (
        "The mean cost of a test row, with 95% intervals over rows. A missed label costs what the table says, other "
        f"mistakes 1, a person {found['person']:g}. Deciding by cost saves {saved}. Class weights minus costs of "
        f"decisions: {against}. They cost {lost} of the accuracy."
    )


def later_tables(found: Document) -> Iterator[str]:
    """Yield the accuracy on held-out rows that are drawn at random, and on the latest ones."""
    rows = []
    for line in found["lines"]:
        random = ", ".join(short(each["accuracy"]["value"]) for each in line["random"])
        latest = line["latest"]
        shares = " → ".join(f"{share:.0%}" for share in latest["positive"])
        rows.append((line["rows"], f"{line['table_rows']:,}", random, interval(latest["accuracy"]), shares))
    head = ("tweets", "rows", f"at random, {seeds_in_words(found['seeds'])}", "the latest fifth", "positive tweets")
    yield markdown([head, *rows])
    yield (
        "Accuracy on a fifth of the rows, which no reader has learned, without a transformer. The last column: the "
        "share of positive tweets among the earlier rows and among the latest fifth."
    )
