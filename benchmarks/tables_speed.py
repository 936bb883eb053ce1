"""The tables of docs/results.md on speed: training-speed-DATA-PRESET.json and answering-speed.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown


def training_tables(found: Document) -> Iterator[str]:
    """Return how fast each contestant trains, and how good it is after each epoch."""
    heads = (
        "", "parameters", "texts per second", "our fastest ÷ this one", "first step",
        "validation accuracy by epoch", "seconds by epoch",
    )  # fmt: skip
    rows = [
        (
            each["name"],
            f"{each['parameters']:,}",
            f"{sorted(each['texts_per_second'])[len(each['texts_per_second']) // 2]:,.0f}",
            _ratio(each["ours_is_faster_by"]),
            f"{each['seconds_to_first_step']:.1f} s",
            ", ".join(f"{accuracy:.3f}" for accuracy in each["accuracy_by_epoch"]),
            ", ".join(f"{seconds:.0f}" for seconds in each["seconds_by_epoch"]),
        )
        for each in found["contestants"]
    ]
    yield f"`{found['data']}`, preset `{found['preset']}`, {found['rows']:,} training rows, {found['epochs']} epochs."
    yield markdown([heads, *rows])


def _ratio(found: dict[str, float]) -> str:
    return f"{found['median']:.2f} × ({found['lowest']:.2f}–{found['highest']:.2f})"


def answering_tables(found: Document) -> Iterator[str]:
    """Return the latency, the speed and the size of each contestant, for each kind of texts."""
    heads = ("", "one text, p50", "p99", "texts per second", "speed ÷ pipeline", "on disk")
    for kind in ("tweets", "reviews"):
        shown = [each for each in found["contestants"] if each[kind] is not None]
        pipeline = next(each[kind] for each in shown if each["name"].startswith("transformers pipeline"))
        yield f"{shown[0][kind]['texts']:,.0f} held-out {kind}, one thread:"
        yield markdown([heads, *([each["name"], *_figures(each[kind], pipeline)] for each in shown)])
    yield markdown(
        [
            ("command", "median", "slowest"),
            *(
                (f"`predict`, {name}", f"{seconds['median']:.2f} s", f"{seconds['slowest']:.2f} s")
                for name, seconds in found["first_answer"].items()
            ),
        ]
    )


def _figures(found: dict[str, Any], pipeline: dict[str, Any]) -> list[str]:
    return [
        f"{found['p50_ms']:.2f} ms",
        f"{found['p99_ms']:.2f} ms",
        f"{found['texts_per_second']:,.0f}",
        f"{found['texts_per_second'] / pipeline['texts_per_second']:.1f}",
        f"{found['bytes'] / 1e6:,.1f} MB",
    ]
