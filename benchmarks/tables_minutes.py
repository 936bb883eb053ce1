"""The table of docs/how-to/minutes.md, from benchmarks/results/minutes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, means_over, span
from glassformer.experiments.published.table import markdown, short

_HEADINGS = (
    "table", "training rows", "minutes", "what was done", "accuracy", "counting reader alone", "transformer alone",
    "planned", "true",
)  # fmt: skip


def minutes_tables(found: Document) -> Iterator[str]:
    yield markdown([_HEADINGS, *map(_row, found["lines"])])
    means = means_over(found["seeds"])
    yield f"Accuracies on a fifth of the training rows, which was held out, {means}. Planned and true: in minutes."


def _row(line: Document) -> tuple[str, ...]:
    mean, runs = line["mean"], line["runs"]
    accuracies = ("–" if mean[name] is None else short(mean[name]) for name in ("accuracy", "counting", "transformer"))
    times = ("–" if mean[name] is None else f"{mean[name]:.1f}" for name in ("planned_minutes", "true_minutes"))
    return (
        line["table"],
        span([run["training_rows"] for run in runs]),
        f"{line['minutes']:g}",
        "; ".join(dict.fromkeys(_done(run) for run in runs)),
        *accuracies,
        *times,
    )


def _done(run: Document) -> str:
    settings = run["settings"]
    if "pretraining.max_steps" in settings:
        return f"pre-training, {run['passes']:.1f} passes"
    if "training.max_steps" in settings:
        return f"{settings['training.max_steps']:,} steps"
    return "counting alone" if "training.epochs" in settings else "the recipe"
