"""The tables and charts of docs/how-it-works/variants.md, from benchmarks/results/variants."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, computer
from glassformer.data.wording import duration
from glassformer.evaluation.charts import Dot, interval_chart, standalone
from glassformer.evaluation.record import Estimate
from glassformer.experiments.published.table import markdown, short


def chart(found: Document) -> str:
    """Draw the mean accuracy of every value of every key with its interval, as an SVG file of its own."""
    dots = [
        Dot(
            name=f"{key['key']} = {value['value']}",
            estimate=Estimate(**value["accuracy"]),
            style="second" if number % 2 else "first",
        )
        for number, key in enumerate(found["keys"])
        for value in key["values"]
    ]
    return standalone(
        interval_chart("Mean accuracy of the variants with each value", "accuracy with 95% interval", dots)
    )


def compared(name: str, found: Document) -> Iterator[str]:
    keys = found["keys"]
    yield f"![Mean accuracy with its interval for each value of each part](../pictures/variants-{name}.svg)"
    yield f"**{found['verdict']}**"
    yield "\n".join(f"- **{key['key']}**: {key['verdict'].removeprefix(key['key'] + ': ')}" for key in keys)
    headings: tuple[str, ...] = ("part", "value", "mean accuracy", "95% interval")
    yield markdown(
        [headings, *((key["key"], value["value"], *_accuracy(value)) for key in keys for value in key["values"])]
    )
    yield f"Intervals include {found['covers']}."
    yield f"{found['data']['rows']:,} training rows. {duration(found['training_seconds'])} of training in all."
    yield f"{computer(found['machine']['cores'], found['machine'].get('processor', ''), found['threads'])}"


def _accuracy(found: Document) -> tuple[str, str]:
    value, low, high = (short(found["accuracy"][edge]) for edge in ("value", "low", "high"))
    return value, f"{low}–{high}"
