"""The tables and charts of docs/how-it-works/variants.md, from benchmarks/results/variants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from glassformer.cli.output import duration
from glassformer.evaluation.charts import Dot, interval_chart, standalone
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short
from glassformer.experiments.variants.comparison_result import VariantComparison
from glassformer.experiments.variants.effects import ValueEffect


def read_comparison(file: Path) -> VariantComparison:
    return VariantComparison.model_validate_json(file.read_text(encoding="utf-8"))


def chart(found: VariantComparison) -> str:
    """Draw the mean accuracy of every value of every key with its interval, as an SVG file of its own."""
    dots = [
        Dot(name=f"{key.key} = {value.value}", estimate=value.accuracy, style="second" if number % 2 else "first")
        for number, key in enumerate(found.keys)
        for value in key.values
    ]
    return standalone(
        interval_chart("Mean accuracy of the variants with each value", "accuracy with 95% interval", dots)
    )


def compared(name: str, found: VariantComparison) -> Iterator[str]:
    yield f"![Mean accuracy with its interval for each value of each part](../pictures/variants-{name}.svg)"
    yield f"**{found.verdict}**"
    yield "\n".join(f"- **{key.key}**: {key.verdict.removeprefix(key.key + ': ')}" for key in found.keys)
    headings = ("part", "value", "mean accuracy", "95% interval", "minus the mean of the part")
    yield markdown([headings, *(_value_row(key.key, value) for key in found.keys for value in key.values)])
    yield f"Intervals include {found.covers}."
    yield "\n".join(_facts(found))


def _value_row(key: str, value: ValueEffect) -> tuple[str, ...]:
    effect = f"{signed(value.effect.value)} ({signed(value.effect.low)} to {signed(value.effect.high)})"
    return key, value.value, short(value.accuracy.value), _interval(value.accuracy), effect


def _facts(found: VariantComparison) -> Iterator[str]:
    data, machine = found.data, found.machine
    yield f"- {data.source}, {data.rows:,} training rows; {data.measured_on}"
    yield f"- {len(found.variants)} variants, {len(found.seeds)} seeds each, {found.budget} a run"
    yield f"- {machine.system}, {machine.architecture}, {machine.cores} cores, threads used: {found.threads}"
    trained = duration(sum(run.seconds for run in found.runs))
    yield f"- torch {found.versions['torch']}, {trained} of training in all, `{found.command}`"
    yield from (f"- {note}" for note in found.notes)


def _interval(estimate: Estimate) -> str:
    return f"{short(estimate.low)}–{short(estimate.high)}"
