"""The tables of docs/how-it-works/search.md, from search.json in benchmarks/results."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short

_SEARCHED = ("table", "training rows", "trials", "minutes", "best settings", "what mattered", "the command recommends")
_MEASURED = ("table", "rows", "default", "found", "difference", "log loss, default", "found", "difference")


def search_tables(found: Document) -> Iterator[str]:
    """Return what each search found, then the figures that it reported beside those on the test rows."""
    yield markdown([_SEARCHED, *map(_searched, found["lines"])])
    yield markdown([_MEASURED, *(row for line in found["lines"] for row in _measured(line))])
    yield (
        f"Accuracy, then log loss in nats, with 95% intervals; seed {found['seed']}. *Held out*: rows of the training "
        "table that the search never saw, which the command reports. *Test*: the official test rows (of "
        "customer-reviews a fixed fifth), answered after the search by models trained on all training rows."
    )


def _searched(line: Document) -> tuple[str, ...]:
    return (
        line["table"],
        f"{line['training_rows']:,}",
        f"{line['trials']:,}",
        f"{line['seconds'] / 60:.1f} of {line['minutes']:g}",
        line["best"],
        ", ".join(line["mattered"]) or "nothing clearly",
        "the settings found" if line["recommended"] == "found" else "the default",
    )


def _measured(line: Document) -> Iterator[tuple[str, ...]]:
    for title, prefix, rows in (("held out", "", line["unseen_rows"]), ("test", "test_", line["test_rows"])):
        default, found = line[f"{prefix}default"], line[f"{prefix}found"]
        gained, lost = line[f"{prefix}accuracy_difference"], line[f"{prefix}log_loss_difference"]
        same = lost["low"] == lost["high"] == 0
        yield (
            f"{line['table']}, {title}",
            f"{rows:,}",
            interval(default["accuracy"]),
            "same answers" if same else short(found["accuracy"]["value"]),
            "" if same else interval(gained, signed),
            short(default["log_loss"]["value"]),
            "" if same else short(found["log_loss"]["value"]),
            "" if same else interval(lost, signed),
        )
