"""What does a model betray of its training table, what lowers it, and does the audit find planted addresses?

The models are small (preset `tiny`), and so are the tables.

    python -m benchmarks.audit
    python -m benchmarks.audit --quick

Only training rows are read: the rows that training held out are compared with the others. Then addresses that no text
has are planted in a table, each in several rows, and the audit looks for them. Finished models are kept in the work
folder, so a stopped benchmark goes on where it was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.bench_data import read_rows, some_rows
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import classifier
from benchmarks.tables_audit import audit_tables
from glassformer.audit.files import audit_files
from glassformer.audit.held_out import measure_membership
from glassformer.audit.membership import area
from glassformer.audit.traces import trace
from glassformer.data.sources import Sources
from glassformer.data.splits import Splits
from glassformer.data.table import Table
from glassformer.experiments.keeper import keep, read_kept
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.audit import losses
from glassformer.targets.labels.target import labels_of
from glassformer.training.recipe import load_recipe

TABLES = ("disaster-tweets", "trec", "customer-reviews")
SEEDS = (0, 1, 2)  # of the rows, of what is held out, and of training
_TRANSFORMER = {"model.counting": "none"}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "counting alone": {"training.epochs": 0, "model.body": "none"},
    "the transformer alone": _TRANSFORMER,
    "early stopping": {**_TRANSFORMER, "training.patience": 1, "training.best_epoch_by": "loss"},
    "one epoch": {**_TRANSFORMER, "training.epochs": 1},
    "dropout of .6": {**_TRANSFORMER, "model.dropout": 0.6},
    "label smoothing of .2": {**_TRANSFORMER, "training.label_smoothing": 0.2},
}
_ROWS = 1_500  # of a table; its share that is held out is compared with the rest
_SPLIT: Mapping[str, Any] = {"validation.min_rows": 200, "validation.fraction": 0.4}
TIMES, PLANTED, OTHERS = (1, 4, 16), 20, 200
_SENTENCE, _WORDS = (
    "please write to {} about the {} and the {}",
    ["film", "game", "song", "trip", "house", "phone", "book", "class", "team", "plan"],
)
FIGURES = ("loss", "accuracy")
_TRIAL_ROWS = 300
_FIGURES = "attacked.json"  # the file in a model folder with what was measured


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--only", nargs="+", metavar="TABLE", help=f"of {', '.join(TABLES)}")
    options = parser.parse_args()
    with running(options) as experiment:
        found: dict[str, Any] = {"seeds": SEEDS, "seed": SEEDS[0], "planted": PLANTED, "ways": [], "canaries": []}
        for name in options.only or TABLES:
            rows = _TRIAL_ROWS if experiment.quick else _ROWS
            tables = {seed: some_rows(read_rows(name, "train"), rows, seed) for seed in SEEDS}
            found["ways"] += [betrayed(experiment, name, tables[seed], way, seed) for seed in SEEDS for way in WAYS]
            found["canaries"] += [canaries(experiment, name, tables[SEEDS[0]], times) for times in TIMES]
        experiment.write("audit", found, audit_tables)


def betrayed(experiment: Experiment, name: str, table: Table, way: str, seed: int) -> dict[str, Any]:
    """Train a model in a way, or read the kept one, and attack it."""
    recipe = load_recipe(None, preset="tiny", overrides={**_SPLIT, "training.seed": seed, **WAYS[way]})
    folder = classifier(experiment, f"audit/{name}-{way.replace(' ', '-')}", recipe, table)
    if (kept := read_kept(folder / _FIGURES, dict)) is not None:
        return kept
    predictor = Predictor.load(folder)
    splits = Sources(train=table).split(recipe.validation, seed=recipe.training.seed)
    measured = measure_membership(predictor, splits).model_dump()
    found = {
        "table": name,
        "way": way,
        "seed": seed,
        "training_rows": splits.train.frame.height,
        "by_counting_alone": predictor.trained.config.answers_by_counting,
        "members": measured["members"],
        "others": measured["others"],
        **{f"{side}_{figure}": measured[f"{side}_{figure}"] for side in ("training", "others") for figure in FIGURES},
        "attacks": {each["by"]: {key: each[key] for key in ("auc", "caught")} for each in measured["attacks"]},
    }
    keep(folder / _FIGURES, found)
    return found


def canaries(experiment: Experiment, name: str, table: Table, times: int) -> dict[str, Any]:
    """Plant addresses in a table, train on it, and look for them.

    Returns:
        How many of the addresses the audit finds in the files alone, and with the table at hand; how many can be
        confirmed by who guesses them; and how well the loss of the answer to a new sentence tells them from addresses
        that were not planted.
    """
    draw = np.random.default_rng([times, 11])
    addresses = [_address(draw) for _ in range(PLANTED + OTHERS)]
    labels = sorted(table.frame["label"].unique())
    of_address = [labels[int(draw.integers(len(labels)))] for _ in addresses]
    planted = _with_rows(table, addresses[:PLANTED], of_address[:PLANTED], times, draw)
    recipe = load_recipe(None, preset="tiny", overrides={**_SPLIT, "training.epochs": 0})
    folder = classifier(experiment, f"audit/{name}-canaries-{times}", recipe, planted)
    if (kept := read_kept(folder / _FIGURES, dict)) is not None:
        return kept
    predictor = Predictor.load(folder)
    splits = Sources(train=planted).split(recipe.validation, seed=recipe.training.seed)
    config = predictor.trained.config
    numbers = [config.label_set.names.index(label) for label in of_address]
    logits = predictor.logits([_sentence(address, draw) for address in addresses])
    scores = -losses(labels_of(config.target), logits, np.array(numbers))
    with_table = {each.kind: each for each in trace(_all(splits), predictor.trained)}["e-mail address"]
    before = {each.kind: each for each in trace(table.frame.select("row", "text"), predictor.trained)}
    own = before.get("e-mail address")
    found = {
        "table": name,
        "times": times,
        "rows": planted.frame.height,
        "in_files": _in_files(folder),
        "with_table": with_table.readable - (own.readable if own else 0),
        "confirmable": (with_table.confirmable or 0) - ((own.confirmable or 0) if own else 0),
        "auc": area(scores[:PLANTED], scores[PLANTED:]).model_dump(),
    }
    keep(folder / _FIGURES, found)
    return found


def _address(draw: np.random.Generator) -> str:
    name, surname, host = ("".join(draw.choice(list("bcdfghjklmnpqrstvwxz"), 6)) for _ in range(3))
    return f"{name}.{surname}@{host}.com"


def _sentence(address: str, draw: np.random.Generator) -> str:
    return _SENTENCE.format(address, *draw.choice(_WORDS, 2))


def _with_rows(table: Table, addresses: list[str], labels: list[str], times: int, draw: np.random.Generator) -> Table:
    """Return the table with a row for each time that each address is planted, in random places."""
    frame = table.frame.select("text", "label")
    texts = [_sentence(address, draw) for address in addresses for _ in range(times)]
    more = pl.DataFrame({"text": texts, "label": [label for label in labels for _ in range(times)]})
    both = pl.concat([frame, more])
    mixed = both[draw.permutation(both.height)].with_row_index("row", offset=1)
    return replace(table, frame=mixed, dropped=())


def _all(splits: Splits) -> pl.DataFrame:
    tables = [splits.train] if splits.validation is None else [splits.train, splits.validation]
    return pl.concat([each.frame.select("row", "text") for each in tables])


def _in_files(folder: Path) -> int:
    """Return how many e-mail addresses the audit finds in the n-grams alone, without the training table."""
    with tempfile.TemporaryDirectory() as alone:
        (Path(alone) / "counting.json").write_bytes((folder / "counting.json").read_bytes())
        (file,) = audit_files(Path(alone))
    return sum(each.values for each in file.found or () if each.kind == "e-mail address")


if __name__ == "__main__":
    main()
