"""The tables of docs/how-it-works/labels.md, from label-doctor, learning-curve and label-next in benchmarks/results."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, stdev
from typing import Any

from benchmarks.tables_common import Document, seeds_in_words, with_spread
from glassformer.experiments.published.table import markdown, short


def labels_tables(found: Document) -> Iterator[str]:
    lines = found["lines"]
    cells = list(dict.fromkeys((line["table"], line["share"]) for line in lines))
    parts = [[line for line in lines if (line["table"], line["share"]) == cell] for cell in cells]
    first = lines[0]
    listed = list(first["listed"])[:2]  # ours, and the filter of cleanlab that is its default
    yield "The rows that are listed: how many, the share of them that was made wrong, and the share that is found."
    heads = ("table", "rows", "made wrong", *listed)
    yield markdown([heads, *((*_names(part), *(_listed(part, name) for name in listed)) for part in parts)])
    yield (
        "Accuracy on test rows of TF-IDF + logistic regression that learned from each version of the table, and the "
        "estimate of wrong labels that `--json` gives, as a share of the rows."
    )
    heads = ("table", "test rows", "made wrong", *first["accuracy"], "estimate: at most")
    yield markdown([heads, *map(_accuracies, parts)])
    seeds = sorted({line["seed"] for line in lines})
    yield f"Mean and standard deviation over {seeds_in_words(seeds)}. cleanlab {found['cleanlab']}."


def forecast_tables(found: Document) -> Iterator[str]:
    lines = found["lines"]
    heads = ("table", "rows", "more", "accuracy before", "brought", "forecast", "interval", "held")
    yield markdown([heads, *map(_forecast, lines)])
    errors = [abs(each["value"] - line["brought"]) for line in lines for each in line["forecasts"]]
    yield (
        f"In percentage points of accuracy; brought: ± standard error. The interval held what the rows brought for "
        f"{sum(map(_held, lines))} of {len(errors)} forecasts. On average, a forecast was off by "
        f"{_points(mean(errors))} points. {seeds_in_words([found['seed']]).capitalize()}."
    )


def _forecast(line: Document) -> tuple[str, ...]:
    value, low, high = (_points(mean(each[key] for each in line["forecasts"])) for key in ("value", "low", "high"))
    brought = f"{_points(line['brought'])} ± {_points(line['standard_error'])}"
    before = (f"`{line['table']}`", f"{line['rows']:,}", f"{line['more']:,}", short(line["accuracy"]))
    return *before, brought, value, f"{low} to {high}", f"{_held(line)} of {len(line['forecasts'])}"


def _held(line: Document) -> int:
    return sum(each["low"] <= line["brought"] <= each["high"] for each in line["forecasts"])


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _names(part: list[Document]) -> tuple[str, ...]:
    rows = round(mean(line["rows"] for line in part))
    return f"`{part[0]['table']}`", f"{rows:,}", f"{part[0]['share']:.0%}"


def _accuracies(part: list[Document]) -> tuple[str, ...]:
    table, _, share = _names(part)
    accuracies = (_over(part, "accuracy", name) for name in part[0]["accuracy"])
    estimate = mean(line["estimated_wrong"] / line["rows"] for line in part)
    return table, f"{part[0]['test_rows']:,}", share, *accuracies, f"{estimate:.0%}"


def _over(part: list[Document], *keys: str) -> str:
    """Return the mean over the lines of a figure that is found by these keys, with its standard deviation."""
    values: list[Any] = list(part)
    for key in keys:
        values = [value[key] for value in values]
    return with_spread(values)


def _listed(part: list[Document], name: str) -> str:
    listed = [line["listed"][name] for line in part]
    rows, precision, recall = (mean(each[key] for each in listed) for key in ("rows", "precision", "recall"))
    return f"{rows:,.0f} rows, {short(precision)}, {short(recall)}"


def next_tables(found: Document) -> Iterator[str]:
    lines, start, step = found["lines"], found["start"], found["step"]
    times = len(lines[0]["accuracy"]["random"])
    tables = list(dict.fromkeys(line["table"] for line in lines))
    rows: list[tuple[str, ...]] = []
    for table in tables:
        part = [line["accuracy"] for line in lines if line["table"] == table]
        gains = [mean(each["chosen"][1:]) - mean(each["random"][1:]) for each in part]
        means = (
            short(mean(each[way][time] for each in part))
            for way, time in (("random", 0), ("random", -1), ("chosen", -1))
        )
        error = f" ± {_points(stdev(gains) / len(gains) ** 0.5)}" if len(gains) > 1 else ""
        rows.append((f"`{table}`", *means, f"{100 * mean(gains):+.1f}{error}"))
    more = start + step * (times - 1)
    yield markdown([("table", f"{start} labels", f"{more}, random", f"{more}, chosen", "chosen − random"), *rows])
    seeds = sorted({line["seed"] for line in lines})
    yield (
        f"Accuracy on held-out training rows: means over {seeds_in_words(seeds)}. The last column is the difference in "
        f"percentage points, as a mean over every {step} labels that were added, ± the standard error over the seeds."
    )
