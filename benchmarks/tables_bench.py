"""The tables of docs/how-it-works/bench-of-tables.md, from benchmarks/results/bench-of-tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.tables_common import Document, interval, means_over, span
from glassformer.data.wording import counted
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short

CONTESTANTS = {
    "ours": "ours",
    "counting": "counting reader alone",
    "body": "word vectors alone",
    "transformer": "transformer alone",
    "TF-IDF": "TF-IDF",
    "NB-LR": "NB-LR",
    "fastText": "fastText",
}


def bench_tables(found: Document) -> Iterator[str]:
    entries, counts = found["entries"], found["summary"]
    shown = {key: name for key, name in CONTESTANTS.items() if any(key in entry["contestants"] for entry in entries)}
    by_chance = counted(max(1, round(0.05 * len(entries))), "table")
    yield (
        f"On {counted(len(entries), 'table')}, compared with TF-IDF, ours is significantly better on "
        f"**{counts['better']}** and significantly worse on **{counts['worse']}**. On {counts['no difference']} there "
        f"is no significant difference. Each table is judged by itself at p < .05: by chance alone, about {by_chance} "
        "would differ."
    )
    if "best" in found:
        yield (
            "Compared with the most accurate of the other classifiers on each table, ours is significantly better on "
            f"**{found['best']['better']}** and significantly worse on **{found['best']['worse']}**."
        )
    headings = ("table", "training rows", *shown.values(), "ours − TF-IDF", "p", "ours is", "minutes", "MB")
    yield markdown([headings, *(_row(entry, shown) for entry in entries)])
    seeds = means_over(found["seeds"])
    yield f"Accuracies on {found['rows']}, {seeds}. Minutes and MB: training of ours, and its model folder."
    for name in found["left_out"]:
        yield f"{name} was not installed, and is left out."


def _row(entry: Document, shown: Mapping[str, str]) -> tuple[str, ...]:
    ours = entry["contestants"]["ours"]
    return (
        entry["name"],
        span([run["training_rows"] for run in entry["runs"]]),
        *_accuracies(entry, shown),
        interval(entry["difference"], signed),
        "< .001" if entry["p"] < 0.001 else short(entry["p"]),
        f"**{entry['outcome']}**" if entry["outcome"] != "no difference" else "–",
        f"{ours['training_seconds'] / 60:.1f}",
        f"{ours['bytes'] / 1e6:.1f}",
    )


def _accuracies(entry: Document, shown: Mapping[str, str]) -> Iterator[str]:
    for name in shown:
        yield short(entry["contestants"][name]["accuracy"]) if name in entry["contestants"] else "–"
