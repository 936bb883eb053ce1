"""How much better do held-out rows look that are drawn at random than the latest ones?

    python -m benchmarks.later_rows
    python -m benchmarks.later_rows --quick

The sample of tweets with dates is split both ways: all of it, and its rows until 15 June 2009, when both classes occur.
The readers beside the transformer answer.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.bench_data import find_file
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import QUICK_ROWS, classifier
from benchmarks.paired import over_rows
from benchmarks.tables_costs import later_tables
from glassformer.data.dates import with_dates
from glassformer.data.splits import ValidationConfig, fingerprint, make_splits
from glassformer.data.table import Table, read_table
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

DATA, FILE, TIME = "sentiment140", "random.parquet", "date"
SEEDS = (0, 1, 2)
UNTIL = datetime(2009, 6, 16)
FIFTH = 0.2


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        whole = read()
        parts = {"until 15 June": whole.frame.filter(pl.col("time") < UNTIL), "all": whole.frame}
        lines = [line(experiment, name, replace(whole, frame=frame)) for name, frame in parts.items()]
        experiment.write("later-rows", {"data": DATA, "seeds": SEEDS, "lines": lines}, later_tables)


def read() -> Table:
    """Read the tweets with their dates. One has none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        pl.read_parquet(find_file(DATA, FILE)).filter(pl.col(TIME).str.len_chars() > 2).write_parquet(file)
        table = read_table(file, text="text", label="label", time=TIME)
    return with_dates(replace(table, source=DATA), TIME)


def line(experiment: Experiment, name: str, table: Table) -> dict[str, Any]:
    """Return the accuracy of both ways to hold rows out."""
    if experiment.quick:
        table = replace(table, frame=table.frame.sample(min(QUICK_ROWS, table.frame.height), seed=0))
    return {
        "rows": name,
        "table_rows": table.frame.height,
        "table_sha256": fingerprint(table),
        "random": [measured(experiment, table, ValidationConfig(fraction=FIFTH, min_rows=0), seed) for seed in SEEDS],
        "latest": measured(experiment, table, ValidationConfig(fraction=FIFTH, min_rows=0, time=TIME), SEEDS[0]),
    }


def measured(experiment: Experiment, table: Table, held_out: ValidationConfig, seed: int) -> dict[str, Any]:
    """Train on the other rows, and return how many of the held-out rows are answered rightly."""
    splits = make_splits(table, held_out, seed=seed)
    assert splits.validation is not None
    recipe = load_recipe(None, overrides={"training.epochs": 0, "training.seed": seed})
    folder = classifier(experiment, "later-rows", recipe, splits.train, splits.validation)
    answers = Predictor.load(folder).answer(splits.validation.frame["text"].to_list()).named
    right = pl.Series(answers) == splits.validation.frame["label"]
    shares = [(part.frame["label"] == "1").sum() / part.frame.height for part in (splits.train, splits.validation)]
    return {
        "training_rows": splits.train.frame.height,
        "held_out_rows": len(right),
        "accuracy": over_rows(right.to_numpy()),
        "positive": shares,
    }


if __name__ == "__main__":
    main()
