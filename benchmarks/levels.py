"""Classes with levels: is the sum of the labels as good as a model of the level alone, and where should a path end?

    python -m benchmarks.levels
    python -m benchmarks.levels --quick

The 150 intents of clinc150 lie in ten domains (levels.toml). With few rows of each intent, a model learns the paths,
`banking > transfer`, and another one the domains alone. Both answer the same test rows. A threshold for the end of the
paths is also chosen on the validation rows of the data set, which no model has learned. The readers beside the
transformer answer. Finished models are kept in the work folder.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.bench_data import find_file
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import answers_by, apart_from, classifier
from benchmarks.paired import over_rows
from glassformer.data.arrays import Array, IntArray
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table, read_table
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.evaluation_levels import hierarchical, measure_levels
from glassformer.targets.labels.levels import Tree
from glassformer.targets.labels.target import labels_of
from glassformer.training.recipe import load_recipe

DATA, SEPARATOR, SEED = "clinc150", " > ", 0
ROWS_OF_EACH, TRIAL_ROWS = (10, 30, 100), 3
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
DOMAINS = {
    intent: domain
    for domain, intents in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))[
        "domains"
    ].items()
    for intent in intents
}


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        sizes = (TRIAL_ROWS,) if experiment.quick else ROWS_OF_EACH
        lines = [line(experiment, rows) for rows in sizes]
        experiment.write("levels", {"data": DATA, "seed": SEED, "thresholds": THRESHOLDS, "lines": lines})


def read(split: str) -> Table:
    """Read a split of the data set. Its labels are paths."""
    table = read_table(find_file(DATA, f"{split}.parquet"), text="text", label="label")
    paths = [f"{DOMAINS[label]}{SEPARATOR}{label}" for label in table.frame["label"]]
    return replace(table, frame=table.frame.with_columns(label=pl.Series(paths)), source=DATA, levels=SEPARATOR)


def drawn(table: Table, rows: int) -> Table:
    """Draw so many rows of each label."""
    places = pl.int_range(pl.len()).shuffle(seed=SEED).over("label")
    return replace(table, frame=table.frame.filter(places < rows))


def of_domains(table: Table) -> Table:
    domains = table.frame["label"].str.split(SEPARATOR).list.first()
    return replace(table, frame=table.frame.with_columns(label=domains), levels=None)


def line(experiment: Experiment, rows: int) -> dict[str, Any]:
    """Train on so many rows of each intent, and return the figures of the test rows."""
    test, held_out = read("test"), read("validation")
    if experiment.quick:
        test, held_out = drawn(test, rows), drawn(held_out, rows)
    train = drawn(apart_from(held_out, apart_from(test, read("train"))), rows)
    recipe = load_recipe(None, overrides={"training.epochs": 0, "training.seed": SEED})
    paths, domains = (
        Predictor.load(classifier(experiment, f"levels/{name}-{rows}", recipe, table, test))
        for name, table in (("paths", train), ("domains", of_domains(train)))
    )
    config = paths.trained.config
    tree = labels_of(config.target).tree
    assert tree is not None
    probs, of_held_out = (paths.answer(each.frame["text"].to_list()).probs for each in (test, held_out))
    labels, known = config.label_set.encode(test), tree.of_class[config.label_set.encode(held_out)]
    truth = tree.of_class[labels]
    chosen = max(THRESHOLDS, key=lambda least: hierarchical(tree, surest(tree, of_held_out, least), known).f1.value)
    alone = domains.answer(test.frame["text"].to_list()).named
    return {
        "rows_of_each": rows,
        "training_rows": train.frame.height,
        "training_sha256": fingerprint(train),
        "test_rows": test.frame.height,
        "test_sha256": fingerprint(test),
        "answers_by": answers_by(config),
        "levels": measure_levels(tree, {"the model": probs}, labels, seed=SEED).model_dump(),
        "first_level": first_level(tree, probs, truth, np.array([tree.nodes.index(name) for name in alone])),
        "chosen_on_held_out_rows": chosen,
        "by_threshold": [by_threshold(tree, probs, truth, least) for least in THRESHOLDS],
    }


def first_level(tree: Tree, probs: Array, truth: IntArray, alone: IntArray) -> dict[str, Any]:
    """Compare three answers at the first level.

    Args:
        alone: the nodes that the model of this level alone answers.
    """
    nodes = np.flatnonzero(tree.depths == 1)
    summed = tree.probabilities(probs)[:, nodes].argmax(axis=1) == tree.paths[truth, 0] - nodes[0]
    of_label = tree.paths[tree.of_class[probs.argmax(axis=1)], 0] == tree.paths[truth, 0]
    learned = alone == tree.paths[truth, 0]
    return {
        "summed": over_rows(summed),
        "of_the_most_probable_label": over_rows(of_label),
        "learned_alone": over_rows(learned),
        "summed_minus_of_label": over_rows(summed.astype(np.int8) - of_label),
        "summed_minus_learned_alone": over_rows(summed.astype(np.int8) - learned),
    }


def by_threshold(tree: Tree, probs: Array, truth: IntArray, least: float) -> dict[str, Any]:
    """Return how much of the paths is right if they end at the deepest node of at least this probability."""
    given = surest(tree, probs, least)
    some = given >= 0
    right = (tree.paths[truth] == given[:, None]).any(axis=1)[some]
    found = hierarchical(tree, given, truth, seed=SEED).model_dump()
    ends_right = float(right.mean()) if len(right) else None
    return {"least": least, **found, "none": float(1 - some.mean()), "ends_right": ends_right}


def surest(tree: Tree, probs: Array, least: float) -> IntArray:
    """Return the most probable of the deepest nodes of at least this probability, −1 if there is none."""
    summed = tree.probabilities(probs)
    depth = np.where(summed >= least, tree.depths + summed / 2, 0)
    return np.where(depth.any(axis=1), depth.argmax(axis=1), -1)


if __name__ == "__main__":
    main()
