"""What do answers of the least expected cost save, and are costs better learned than decided by?

    python -m benchmarks.costs
    python -m benchmarks.costs --quick

A missed label of one class costs more than other mistakes. A model answers the test rows with the most probable label,
by the costs, and by the costs where a person may be asked. Another model has the costs as the weights of its classes.
Finished models are kept in the work folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.bench_data import find_file, read_rows
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import QUICK_ROWS, apart_from, classifier
from benchmarks.paired import over_rows
from benchmarks.tables_costs import costs_tables
from glassformer.data.arrays import Array, BoolArray
from glassformer.data.sources import SourceConfig, read_sources
from glassformer.data.splits import ValidationConfig, fingerprint
from glassformer.data.table import Table
from glassformer.prediction.predictor import Predictor
from glassformer.targets.costs import Costs, read_costs
from glassformer.training.recipe import load_recipe

SEED, PERSON = 0, 0.3
CUSTOMER_TEST_ROWS = 1_200


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A table, the label that costs more if it is missed, and how the model is trained."""

    data: str
    label: str
    cost: float
    transformer: bool


ENTRIES = (
    Entry(data="customer-reviews", label="negative", cost=5, transformer=False),
    Entry(data="vietnamese-feedback", label="neutral", cost=10, transformer=False),
    Entry(data="sick", label="CONTRADICTION", cost=10, transformer=True),
)


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        lines = [line(experiment, entry) for entry in ENTRIES]
        experiment.write("costs", {"seed": SEED, "person": PERSON, "lines": lines}, costs_tables)


def read(data: str) -> tuple[Table, Table]:
    """Return the training and the test rows of a data set."""
    if data == "sick":
        files: dict[str, Any] = {split: str(find_file(data, f"{split}.parquet")) for split in ("train", "test")}
        columns: dict[str, Any] = {"text": "sentence_a", "other_texts": ("sentence_b",), "label": "entailment"}
        sources = read_sources(SourceConfig(**files, **columns), ValidationConfig(), None)
        assert sources.test is not None
        return replace(sources.train, source=data), sources.test
    if data == "customer-reviews":  # it has no test rows, and both parts of `read_rows` are all of it
        parts = [read_rows(data, "train"), read_rows(data, "test")]
        frame = parts[0].frame.vstack(parts[1].frame).sort("row").sample(fraction=1, shuffle=True, seed=SEED)
        ends = frame[CUSTOMER_TEST_ROWS:], frame[:CUSTOMER_TEST_ROWS]
        train, test = (replace(parts[0], frame=part) for part in ends)
        return train, test
    return read_rows(data, "train"), read_rows(data, "test")


def line(experiment: Experiment, entry: Entry) -> dict[str, Any]:
    """Return the mean cost of a test row for each way to answer."""
    train, test = read(entry.data)
    if experiment.quick:
        train, test = (
            replace(table, frame=table.frame.sample(min(QUICK_ROWS, table.frame.height), seed=SEED))
            for table in (train, test)
        )
    train = apart_from(test, train)
    settings: dict[str, Any] = {"training.seed": SEED} | ({} if entry.transformer else {"training.epochs": 0})
    weights = {name: entry.cost if name == entry.label else 1.0 for name in train.frame["label"].unique().sort()}
    probs, labels, costs, asked_in_words = answered(experiment, entry, settings, train, test)
    weighted, *_ = answered(experiment, entry, settings | {"training.class_weights": weights}, train, test)
    probable, by_cost = costs.paid(most_probable(probs), labels), costs.paid(costs.given(probs), labels)
    asked = costs.asked(probs)
    ways = {
        "most_probable": probable,
        "by_cost": by_cost,
        "with_a_person": np.where(asked, PERSON, by_cost),
        "class_weights": costs.paid(most_probable(weighted), labels),
        "class_weights_by_cost": costs.paid(costs.given(weighted), labels),
        "saved": probable - by_cost,
        "class_weights_minus_by_cost": costs.paid(most_probable(weighted), labels) - by_cost,
    }
    return {
        "data": entry.data,
        "label": entry.label,
        "cost": entry.cost,
        "answers_by": asked_in_words,
        "training_rows": train.frame.height,
        "training_sha256": fingerprint(train),
        "test_rows": len(labels),
        "test_sha256": fingerprint(test),
        "share": (test.frame["label"] == entry.label).sum() / len(labels),
        "asked": float(asked.mean()),
        "accuracy": float((probs.argmax(axis=1) == labels).mean()),
        "accuracy_of_class_weights": float((weighted.argmax(axis=1) == labels).mean()),
        "ways": {name: over_rows(paid) for name, paid in ways.items()},
    }


def answered(
    experiment: Experiment, entry: Entry, settings: Mapping[str, Any], train: Table, test: Table
) -> tuple[Array, Array, Costs, str]:
    """Train, and return the probabilities of the test rows, their labels, the costs, and which readers answer."""
    recipe = load_recipe(None, overrides=dict(settings))
    predictor = Predictor.load(classifier(experiment, f"costs/{entry.data}", recipe, train, test))
    config = predictor.trained.config
    rows = read_costs({entry.label: entry.cost, "review": PERSON})
    costs = Costs.of(rows, config.label_set.names, multilabel=False)
    assert costs is not None
    labels = config.label_set.encode(test)
    return predictor.answer(test.frame["text"].to_list()).probs, labels, costs, config.asked_in_words


def most_probable(probs: Array) -> BoolArray:
    given: BoolArray = probs.argmax(axis=1)[:, None] == np.arange(probs.shape[1])
    return given


if __name__ == "__main__":
    main()
