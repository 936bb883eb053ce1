"""Do the texts that `glassformer labels --next` chooses teach more than random ones?

    python -m benchmarks.label_next
    python -m benchmarks.label_next --quick

Only training rows are read. A fifth of them is held out. Of at most 3,000 others, 200 rows are labelled at the start:
two of each label, and random ones. Four times, 50 more are labelled: the texts that `labels --next` chooses, or random
ones. After each time, the counting reader learns from the labelled rows and answers the held-out ones. Both ways start
from the same rows. Finished lines are kept in the work folder.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from benchmarks.bench_data import hold_out_fifth, read_rows, some_rows
from benchmarks.experiment import arguments, running
from benchmarks.tables_labels import next_tables
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.labels.to_label import to_label
from glassformer.labels.truth import truth_of
from glassformer.readers.counting.fitting import fit_counting
from glassformer.readers.folds import folds_of

TABLES = ("customer-reviews", "trec", "disaster-tweets", "vietnamese-feedback", "sentiment140", "imdb")
START, STEP, TIMES, MOST = 200, 50, 4, 3_000
SEEDS = range(10, 14)  # how to choose was decided with seeds 0 to 3
WAYS = ("chosen", "random")
QUICK_ROWS = 500


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        lines = []
        for data in TABLES:
            train, held_out = hold_out_fifth(read_rows(data, "train"), SEEDS[0])
            train = some_rows(train, QUICK_ROWS if experiment.quick else MOST, SEEDS[0])
            for seed in SEEDS[:1] if experiment.quick else SEEDS:
                made_of = {"train": fingerprint(train), "held_out": fingerprint(held_out), "seed": seed}
                found = experiment.kept(f"label-next/{data}-{seed}", made_of, partial(of_ways, train, held_out, seed))
                rows = {"rows": train.frame.height, "held_out": held_out.frame.height}
                lines.append({"table": data, "seed": seed, **rows, "accuracy": found})
                print(lines[-1], flush=True)
        document: dict[str, Any] = {"start": START, "step": STEP, "lines": lines}
        experiment.write("label-next", document, next_tables)


def of_ways(train: Table, held_out: Table, seed: int) -> dict[str, list[float]]:
    return {way: accuracies(train, held_out, way, seed) for way in WAYS}


def accuracies(train: Table, held_out: Table, way: str, seed: int) -> list[float]:
    """Return the accuracy on the held-out rows at the start, and after each time that more rows are labelled."""
    rng = np.random.default_rng(seed)
    rows = train.frame["row"].to_numpy()
    labelled = start(train, rng)
    found = [accuracy(_some(train, labelled), held_out, seed)]
    for _ in range(TIMES):
        others = np.setdiff1d(rows, labelled)
        if way == "chosen":
            more = to_label(truth_of(_some(train, labelled)), _some(train, others), STEP).rows["row"].to_numpy()
        else:
            more = rng.choice(others, STEP, replace=False)
        labelled = np.concatenate([labelled, more])
        found.append(accuracy(_some(train, labelled), held_out, seed))
    return found


def start(train: Table, rng: np.random.Generator) -> np.ndarray:
    """Draw the rows that are labelled at the start: two of each label, because a label needs two, and then any rows."""
    drawn = train.frame.select("row", "label")[rng.permutation(train.frame.height)]
    two = drawn.group_by("label", maintain_order=True).head(2).select(drawn.columns)
    rows: np.ndarray = (
        pl.concat([two, drawn]).unique("row", keep="first", maintain_order=True)["row"][:START].to_numpy()
    )
    return rows


def _some(table: Table, rows: np.ndarray) -> Table:
    return replace(table, frame=table.frame.filter(pl.col("row").is_in(rows.tolist())))


def accuracy(labelled: Table, held_out: Table, seed: int) -> float:
    """Return the accuracy of a counting reader. A label that it has not seen is a mistake."""
    names = LabelSet.from_table(labelled)
    labels = names.encode(labelled)
    texts = labelled.frame["text"].to_list()
    folds = folds_of(labels, seed=seed)
    reader = fit_counting("tfidf", texts, labels, n_classes=len(names.names), folds=folds, seed=seed).reader
    answers = reader.scores(held_out.frame["text"].to_list()).argmax(axis=1)
    said = [names.names[answer] for answer in answers]
    return float(np.mean([one == other for one, other in zip(said, held_out.frame["label"], strict=True)]))


if __name__ == "__main__":
    main()
