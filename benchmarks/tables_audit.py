"""The tables of docs/how-it-works/audit.md, from benchmarks/results/audit.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean

from benchmarks.tables_common import Document, interval, seeds_in_words
from glassformer.experiments.published.table import markdown, short

_LOSS, _DEFAULTS = "loss of the answer", "defaults"
_SHOWN = (_DEFAULTS, "the transformer alone", "early stopping", "one epoch")  # of the ways to train


def audit_tables(found: Document) -> Iterator[str]:
    """Yield a table of attacks, one of ways to lower them, and one of planted addresses."""
    ways = found["ways"]
    tables, names = dict.fromkeys(line["table"] for line in ways), dict.fromkeys(line["way"] for line in ways)
    yield (
        "Attacks on models of the preset `tiny` with the default settings, means of the "
        f"{seeds_in_words(found['seeds'])}, with the lowest and the highest:"
    )
    yield markdown([
        ("table", "attack by", "AUC", "recognised at 1% false alarms"),
        *(line for table in tables for line in _attacks(table, _of(ways, table, _DEFAULTS))),
    ])  # fmt: skip
    yield "What other settings change, also as means:"
    yield markdown([
        ("table", "settings", "right: training", "right: held out", "loss of the answer, AUC",
         "recognised at 1% false alarms"),
        *(_way(table, way, _of(ways, table, way)) for table in tables for way in names if way in _SHOWN),
    ])  # fmt: skip
    yield "From “the transformer alone” on, the models have no counting reader."
    yield f"{found['planted']} addresses, planted in the training rows:"
    yield markdown([
        ("table", "rows with each", "read in the files alone", "readable, with the table", "can be confirmed",
         "loss: planted against others, AUC"),
        *((f"`{line['table']}`", f"{line['times']}", f"{line['in_files']}", f"{line['with_table']}",
           f"{line['confirmable']}", interval(line["auc"])) for line in found["canaries"]),
    ])  # fmt: skip
    listed = "; ".join(
        f"`{line['table']}` {line['members']:,} and {line['others']:,}" for line in ways
        if (line["way"], line["seed"]) == (_DEFAULTS, found["seed"])
    )  # fmt: skip
    alone = sum(line["by_counting_alone"] for line in ways if line["way"] == _DEFAULTS)
    yield (
        f"Training texts and held-out texts that were compared: {listed}. With the default settings, {alone} of "
        f"{len(tables) * len(found['seeds'])} models answer by counting alone. So do those with planted addresses, of "
        f"seed {found['seed']}."
    )


def _of(ways: Sequence[Document], table: str, way: str) -> list[Document]:
    return [line for line in ways if (line["table"], line["way"]) == (table, way)]


def _attacks(table: str, of_seeds: Sequence[Document]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each attack that was tried with every seed."""
    by_seed = [line["attacks"] for line in of_seeds]
    tried = [by for by in by_seed[0] if all(by in each for each in by_seed)]
    for number, by in enumerate(tried):
        found = [each[by] for each in by_seed]
        yield f"`{table}`" if number == 0 else "", by, *_figures(found)


def _way(table: str, way: str, of_seeds: Sequence[Document]) -> tuple[str, ...]:
    found = [line["attacks"][_LOSS] for line in of_seeds]
    right = (_range([line[f"{side}_accuracy"] for line in of_seeds]) for side in ("training", "others"))
    return f"`{table}`", way, *right, *_figures(found)


def _figures(attacks: Sequence[Document]) -> tuple[str, str]:
    """Format the AUC and the share of recognised texts of an attack, over seeds."""
    caught = [attack["caught"]["value"] for attack in attacks if attack["caught"] is not None]
    return _range([attack["auc"]["value"] for attack in attacks]), _range(caught) if caught else ""


def _range(values: Sequence[float]) -> str:
    return f"{short(mean(values))} ({short(min(values))}–{short(max(values))})"
