"""What does giving up early cost and save on small tables?

    python -m benchmarks.small_tables
    python -m benchmarks.small_tables --quick

Only training rows are read: a fifth of them, at most 3,000, is held out. Of the others, 100 to 1,000 are drawn. Two
models learn from them: one cross-fits to the end, the other gives up on a transformer that promises too little.
"""

from __future__ import annotations

import math
import sys
import time
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.bench_data import Cut, Entry, cut_rows
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.tables_small import small_tables
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.prediction.predictor import Predictor
from glassformer.training import cross_fitting
from glassformer.training.readers import GAIN
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model

TABLES = (
    "customer-reviews", "trec", "disaster-tweets", "vietnamese-feedback", "sentiment140", "clinc150", "imdb",
    "polarity",
)  # fmt: skip
ROWS = (100, 300, 1_000)
ROWS_OF_MANY_CLASSES = 300
"""`clinc150` has 150 classes: fewer rows have not two of each."""
SEED = 0


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        tables, rows = (TABLES[-1:], ROWS[:1]) if experiment.quick else (TABLES, ROWS)
        answers = [line_of(experiment, data, count) for count in rows for data in tables if count >= least_rows(data)]
        experiment.write("small-tables", {"seed": SEED, "answers": answers}, small_tables)


def least_rows(data: str) -> int:
    return ROWS_OF_MANY_CLASSES if data == "clinc150" else ROWS[0]


def line_of(experiment: Experiment, data: str, count: int) -> dict[str, Any]:
    """Return the figures of both models of a part of a table."""
    cut = cut_rows(Entry(name=data, data=data, rows=count, minutes=1), SEED, test=False)
    made_of = {"train": fingerprint(cut.train), "held_out": fingerprint(cut.held_out), "seed": SEED}
    found = {
        way: experiment.kept(f"small-{data}-{count}-{way}", made_of, partial(figures, cut, gain))
        for way, gain in (("whole", -math.inf), ("early", GAIN))
    }
    line = {
        "table": data,
        "drawn": count,
        "rows": cut.train.frame.height,
        "held_out": cut.held_out.frame.height,
        **found,
    }
    print(line, file=sys.stderr, flush=True)
    return line


def figures(cut: Cut, gain: float) -> dict[str, Any]:
    """Train, and measure on the held-out rows. Cross-fitting goes on if it promises more than `gain`."""
    began, used = time.perf_counter(), time.process_time()
    with patch.object(cross_fitting, "GAIN", gain):
        trained = train_model(
            Sources(train=cut.train, test=cut.held_out), load_recipe(overrides={"training.seed": SEED})
        )
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    answers = Predictor(trained).answer(cut.held_out.frame["text"].to_list())
    names = [str(label) for label in trained.config.label_set.names]
    truth = np.array([names.index(str(label)) for label in cut.held_out.frame["label"].to_list()])
    right = answers.probs.argmax(axis=1) == truth
    readers = trained.metrics.get("readers") or {}
    return {
        "accuracy": float(right.mean()),
        "right": int(right.sum()),
        "log_loss": float(log_loss(truth, answers.probs, labels=range(len(names)))),
        "weights": trained.config.weights,
        "gave_up": readers.get("promise"),
        "seconds": seconds,
        "processor_seconds": processor,
    }


if __name__ == "__main__":
    main()
