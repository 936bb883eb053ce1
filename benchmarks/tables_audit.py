"""The tables of docs/audit.md, from benchmarks/results/audit.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval
from glassformer.experiments.published.table import markdown, short

_LOSS, _TRANSFORMER = "loss of the answer", "loss of the transformer alone"


def audit_tables(found: Document) -> Iterator[str]:
    """Yield a table of attacks, one of ways to lower them, and one of planted addresses."""
    yield "Attacks on models with the default settings:"
    lines = [
        (
            f"`{line['table']}`" if number == 0 else "",
            attack["by"],
            interval(attack["auc"]),
            "" if attack["caught"] is None else interval(attack["caught"]),
        )
        for line in found["ways"]
        if line["way"] == "defaults"
        for number, attack in enumerate(line["attacks"])
    ]
    yield markdown([("table", "attack by", "AUC", "recognised at 1% false alarms"), *lines])
    yield "What other settings change:"
    yield markdown([
        ("table", "settings", "answers by", "right: training, held out", "loss of the answer, AUC",
         "transformer alone, AUC"),
        *map(_way, found["ways"]),
    ])  # fmt: skip
    yield f"{found['planted']} addresses, planted in the training rows:"
    yield markdown([
        ("table", "rows with each", "read in the files alone", "readable, with the table", "can be confirmed",
         "loss: planted against others, AUC"),
        *((f"`{line['table']}`", f"{line['times']}", f"{line['in_files']}", f"{line['with_table']}",
           f"{line['confirmable']}", interval(line["auc"])) for line in found["canaries"]),
    ])  # fmt: skip
    sizes = {line["table"]: (line["members"], line["others"], line["training_rows"]) for line in found["ways"]}
    listed = "; ".join(
        f"`{table}` {members:,} of {rows:,}, and {others:,}" for table, (members, others, rows) in sizes.items()
    )
    yield (
        f"Training texts and held-out texts that were compared: {listed}. Models with planted addresses answer by "
        "counting alone. "
        f"Seed {found['seed']}."
    )


def _way(line: Document) -> tuple[str, ...]:
    by = {attack["by"]: attack for attack in line["attacks"]}
    has_counting = _TRANSFORMER in by
    alone = by[_TRANSFORMER if has_counting else _LOSS]
    answers_by = (
        "counting alone" if line["by_counting_alone"] else "both readers" if has_counting else "the transformer"
    )
    return (
        f"`{line['table']}`",
        line["way"],
        answers_by,
        f"{short(line['training_accuracy'])}, {short(line['others_accuracy'])}",
        interval(by[_LOSS]["auc"]),
        interval(alone["auc"]) if line["has_transformer"] else "",
    )
