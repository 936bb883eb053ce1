"""Does a class `other` tell texts of unknown intents better than the confidence of a plain model?

    python -m benchmarks.other_class
    python -m benchmarks.other_class --quick

The intents of `clinc150` are drawn into 100 that are known, 25 that are `other`, and 25 that no model has seen. A plain
model learns the known ones. Another model learns `other` beside them, from the rows of its intents or from those of
other tables. Held-out training rows of the known and the unseen intents are answered. No test row is read, and no
transformer is trained. Finished models are kept in the work folder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score

from benchmarks.bench_data import TEST_SEED, hold_out_fifth, read_rows, some_rows
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import apart_from, classifier
from benchmarks.tables_uneven import other_tables
from glassformer.data.arrays import BoolArray
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

DATA, ELSEWHERE = "clinc150", ("trec", "disaster-tweets")
OTHER = "other"
INTENTS = {"known": 100, OTHER: 25, "unseen": 25}
ROWS = 5_000
"""How many training rows of all intents there are: 33 or 34 of each."""
SEEDS = (0, 1, 2)


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        train, held_out = hold_out_fifth(read_rows(DATA, "train"), TEST_SEED)
        found = {
            "data": DATA,
            "elsewhere": ELSEWHERE,
            "intents": INTENTS,
            "seeds": SEEDS,
            "held_out_sha256": fingerprint(held_out),
            "runs": [measured(experiment, train, held_out, seed) for seed in SEEDS],
        }
        experiment.write("other-class", found, other_tables)


def measured(experiment: Experiment, train: Table, held_out: Table, seed: int) -> dict[str, Any]:
    """Return how each model answers the held-out rows of known and unseen intents."""
    intents = iter(np.random.default_rng(seed).permutation(train.frame["label"].unique().sort()).tolist())
    known, other, unseen = ([next(intents) for _ in range(count)] for count in INTENTS.values())
    learned = some_rows(train, 10 * sum(INTENTS.values()) if experiment.quick else ROWS, seed).frame
    plain, of_other = (learned.filter(pl.col("label").is_in(names)) for names in (known, other))
    foreign = pl.concat([some_rows(read_rows(data, "train"), of_other.height, seed).frame for data in ELSEWHERE])
    asked = replace(held_out, frame=held_out.frame.filter(pl.col("label").is_in(known + unseen)))
    is_unseen = asked.frame["label"].is_in(unseen).to_numpy()
    models = {}
    for name, more in {"plain": plain.clear(), "intents": of_other, "elsewhere": foreign}.items():
        frame = pl.concat([plain, more.with_columns(label=pl.lit(OTHER))]).with_columns(
            row=pl.int_range(1, pl.len() + 1)
        )
        models[name] = answered(experiment, replace(train, frame=frame), asked, is_unseen, seed)
    return {"asked": {"known": int((~is_unseen).sum()), "unseen": int(is_unseen.sum())}, "models": models}


def answered(experiment: Experiment, train: Table, asked: Table, is_unseen: BoolArray, seed: int) -> dict[str, Any]:
    """Return the accuracy of a model for known intents, and the AUROC by which its scores tell unseen ones."""
    recipe = load_recipe(None, overrides={"training.epochs": 0, "training.seed": seed})
    train = apart_from(asked, train)
    predictor = Predictor.load(classifier(experiment, "other-class", recipe, train, asked))
    texts, names = asked.frame["text"].to_list(), np.array(predictor.trained.config.label_set.names)
    probs, seen = predictor.answer(texts).probs, predictor.trained.seen
    assert seen is not None
    scores = {
        "confidence": 1 - probs[:, names != OTHER].max(axis=1),
        "unseen_words": seen.unseen_shares(texts),
        "other": probs[:, names == OTHER].sum(axis=1),  # nothing without that class
    }
    right = names[probs.argmax(axis=1)] == asked.frame["label"].to_numpy()
    return {
        "training_rows": train.frame.height,
        "training_sha256": fingerprint(train),
        "rows_of_other": int((train.frame["label"] == OTHER).sum()),
        "accuracy": float(right[~is_unseen].mean()),
        "auroc": {name: float(roc_auc_score(is_unseen, score)) for name, score in scores.items()},
    }


if __name__ == "__main__":
    main()
