"""The tables of docs/how-it-works/inputs.md, from benchmarks/results/inputs.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval, over_seeds_and_rows
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short


def inputs_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies, and one of what each input gives."""
    lines = found["lines"]
    head = ("table", "inputs", "accuracy", "TF-IDF + LR", "difference", "counting", "transformer", "majority")
    rows = [
        (
            f"`{line['table']}`",
            _names(line["inputs"]),
            interval(line["accuracy"]),
            interval(line["baseline"]),
            _signed(line["over_baseline"]),
            short(line["readers"]["counting"]),
            short(line["readers"]["transformer"]),
            short(line["majority"]),
        )
        for line in lines
    ]
    yield markdown([head, *rows])
    gains = [
        f"On `{line['table']}`, {_names(line['inputs'])} gain {_signed(line['gain'])} over the text alone; TF-IDF + LR "
        f"gains {_signed(line['baseline_gain'])}."
        for line in lines
        if "gain" in line
    ]
    yield " ".join(gains) if gains else "No table was read in two ways."
    heads = ("table", "input", "accuracy without it", "what it gives")
    yield markdown(
        [
            heads,
            *(
                (f"`{line['table']}`", f"`{name}`", short(each["accuracy"]), _signed(each | {"value": each["gain"]}))
                for line in lines
                for name, each in line["without"].items()
            ),
        ]
    )
    of_rows = "; ".join(
        dict.fromkeys(f"`{line['table']}` {line['training_rows']:,} and {line['test_rows']:,}" for line in lines)
    )
    yield (
        f"{over_seeds_and_rows(found)}; in the last table, these are the means of the intervals of the seeds. Training "
        f"rows and test rows: {of_rows}."
    )


def _names(inputs: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in inputs)


def _signed(found: Document) -> str:
    return f"{signed(found['value'])} ({signed(found['low'])} to {signed(found['high'])})"
