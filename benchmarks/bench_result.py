"""The figures of the bench of tables: what is written for each entry, and the summary over all."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.bench_contestants import FASTTEXT, NB_LR, OURS, TFIDF, ByName
from benchmarks.bench_data import Cut, Entry
from benchmarks.paired import Outcome, SeedAnswers, compare
from glassformer.data.arrays import BoolArray, IntArray
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint

FIGURES = ("accuracy", "macro_f1", "training_seconds", "answering_seconds", "bytes")


@dataclass(frozen=True, kw_only=True)
class EntryRun:
    """An entry with one seed: its rows without their texts, and what the contestants answered.

    Attributes:
        rows: the numbers of the held-out rows in their data set.
        labels: the labels of the held-out rows, as class numbers.
    """

    seed: int
    classes: int
    training_rows: int
    training_sha256: str
    data_sha256: str
    rows: list[int]
    labels: IntArray
    answers: ByName

    @classmethod
    def of(cls, seed: int, cut: Cut, answers: ByName) -> EntryRun:
        label_set = LabelSet.from_table(cut.train)
        return cls(
            seed=seed,
            classes=len(label_set.names),
            training_rows=cut.train.frame.height,
            training_sha256=fingerprint(cut.train),
            data_sha256=fingerprint(cut.held_out),
            rows=cut.held_out.frame["row"].to_list(),
            labels=label_set.encode(cut.held_out),
            answers=answers,
        )

    def right(self, contestant: str) -> BoolArray:
        right: BoolArray = np.array(self.answers[contestant].answers) == self.labels
        return right

    def figures(self, contestant: str) -> dict[str, Any]:
        answered = self.answers[contestant]
        return {
            "accuracy": float(self.right(contestant).mean()),
            "macro_f1": float(f1_score(self.labels, answered.answers, average="macro", zero_division=0)),
            "training_seconds": answered.training_seconds,
            "answering_seconds": answered.answering_seconds,
            "bytes": answered.bytes,
            "notes": list(answered.notes),
        }


def entry_result(entry: Entry, runs: Sequence[EntryRun]) -> dict[str, Any]:
    """Return the figures of an entry: means over its seeds, ours compared with TF-IDF, and the rows of each seed."""
    seeds = [
        {
            "seed": run.seed,
            "training_rows": run.training_rows,
            "rows": len(run.rows),
            "training_sha256": run.training_sha256,
            "data_sha256": run.data_sha256,
        }
        for run in runs
    ]
    names = [name for name in runs[0].answers if all(name in run.answers for run in runs)]
    contestants = {name: _over_seeds([run.figures(name) for run in runs]) for name in names}
    over = {name: _compared(runs, name) for name in (TFIDF, NB_LR, FASTTEXT) if name in contestants}
    best = max(over, key=lambda name: contestants[name]["accuracy"])
    return {
        "name": entry.name,
        "data": entry.data,
        "label_noise": entry.noise,
        "typos": entry.typos,
        "classes": runs[0].classes,
        "contestants": contestants,
        **over[TFIDF],
        "best": {"name": best, **over[best]},
        "runs": seeds,
    }


def _compared(runs: Sequence[EntryRun], other: str) -> dict[str, Any]:
    """Compare ours with another contestant."""
    found = compare([SeedAnswers(rows=run.rows, right_a=run.right(OURS), right_b=run.right(other)) for run in runs])
    return {"difference": found.difference.model_dump(), "p": found.p, "outcome": found.outcome}


def summary(compared: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count the comparisons in which ours is better, worse or not different."""
    counts = Counter(each["outcome"] for each in compared)
    return {outcome: counts[outcome] for outcome in get_args(Outcome)}


def _over_seeds(seeds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the means over seeds, accuracy and macro F1 of each seed, and the notes of all seeds if there are any."""
    means = {key: _mean([seed[key] for seed in seeds]) for key in FIGURES}
    of_seeds = {f"{key}_of_seeds": [seed[key] for seed in seeds] for key in ("accuracy", "macro_f1")}
    notes = [note for seed in seeds for note in seed["notes"]]
    return {**means, **of_seeds, **({"notes": notes} if notes else {})}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None
