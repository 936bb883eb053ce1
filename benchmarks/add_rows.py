"""What does a model forget that learns rows later? `glassformer train --add`, beside training anew on all rows.

    python -m benchmarks.add_rows
    python -m benchmarks.add_rows --quick

Some classes, or half of the rows, are held back. A model learns the others, and then these too. A counting reader
learns all rows in any case. So the transformer is trained without one too, with several shares of the old rows that it
learns again. All answer the test rows, which decide nothing else. Finished lines are kept in the work folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.bench_data import read_rows, some_rows
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.tables_add import add_tables
from glassformer.data.sources import SourceConfig, read_sources
from glassformer.data.splits import fingerprint
from glassformer.data.store import TokenStore
from glassformer.data.table import Table
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.scoring import score
from glassformer.training.adding import add_to
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model

PRESET = "tiny"
SHARES, SEEDS = (0.0, 0.1, 0.5, 1.0), (0, 1, 2)
ALONE: dict[str, Any] = {"model.counting": "none"}
QUICK_ROWS = 400


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, how many of its rows are used, and what is held back: classes, or half of the rows if there are none."""

    name: str
    data: str
    rows: int | None = None
    classes: int = 0


CASES = (
    Case(name="trec, one class later", data="trec", classes=1),
    Case(name="clinc150, 15 classes later", data="clinc150", rows=3_000, classes=15),
    Case(name="trec, half of the rows later", data="trec"),
)


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    seeds = SEEDS[:1] if options.quick else SEEDS
    with running(options) as experiment:
        lines = []
        for case in CASES[:1] if experiment.quick else CASES:
            for seed in seeds:
                lines.append(_line(experiment, case, seed))
                print(case.name, seed, lines[-1]["runs"], flush=True)
        document = {"preset": PRESET, "lines": lines}
        experiment.write("add-rows", document, add_tables)


def _line(experiment: Experiment, case: Case, seed: int) -> dict[str, Any]:
    train = some_rows(read_rows(case.data, "train"), QUICK_ROWS if experiment.quick else case.rows, 0)
    test = read_rows(case.data, "test")
    made_of = {"train": fingerprint(train), "test": fingerprint(test), "classes": case.classes, "seed": seed}
    name = f"add-rows/{case.data}-{case.classes}-{seed}"
    later = held_back(train, case.classes, seed)
    make = partial(line, experiment.work / name, train, later, test, seed, quick=experiment.quick)
    return {"case": case.name, "seed": seed, **experiment.kept(name, made_of, make)}


def held_back(train: Table, classes: int, seed: int) -> pl.Series:
    """Return which rows are learned later: those of classes that are drawn by the seed, or half of the rows."""
    rng = np.random.default_rng(seed)
    if not classes:
        return pl.Series(rng.permutation(train.frame.height) < train.frame.height // 2)
    counts = train.frame["label"].value_counts().sort("label")
    frequent = counts.filter(pl.col("count") >= counts["count"].median())["label"].to_list()
    return train.frame["label"].is_in(rng.choice(frequent, classes, replace=False).tolist())


def line(desk: Path, train: Table, later: pl.Series, test: Table, seed: int, *, quick: bool) -> dict[str, Any]:
    """Return the figures of all ways to learn the rows that were held back."""
    desk.mkdir(parents=True, exist_ok=True)
    tables = {
        "old": train.frame.filter(~later),
        "new": train.frame.filter(later),
        "all": train.frame,
        "test": test.frame,
    }
    files = {name: desk / f"{name}.csv" for name in tables}
    for name, frame in tables.items():
        frame.select("text", "label").write_csv(files[name])
    settings: dict[str, Any] = {"training.seed": seed}
    if quick:
        settings |= {"training.epochs": 1, "training.min_steps_per_epoch": 5, "validation.min_rows": 200}
    recipe = load_recipe(preset=PRESET, overrides=settings)
    fewest = {"validation.min_rows": recipe.validation.min_rows}  # without counting, the default is another
    old_labels = set(tables["old"]["label"].to_list())
    is_old = np.array([label in old_labels for label in test.frame["label"]])

    def anew(table: str, out: Path | None = None, **more: Any) -> TrainedModel:
        source = SourceConfig(train=str(files[table]), test=str(files["test"]), text="text", label="label")
        sources = read_sources(source, recipe.validation, None)
        own = load_recipe(preset=PRESET, overrides=settings | fewest | more)
        return train_model(sources, own, source=source, out=out, overwrite=True)

    def added(share: float, **more: Any) -> TrainedModel:
        begun = add_to(desk / "model", str(files["new"]), replay=share, settings=more)
        return train_model(begun.sources, begun.recipe, source=begun.source, init=begun.init)

    figures = partial(_figures, test=test, is_old=is_old)
    before = figures(anew("old", desk / "model"))
    runs = {
        "model": {
            "before": before["model"],
            "added": figures(added(1.0))["model"],
            "anew": figures(anew("all"))["model"],
        },
        "transformer": {
            "before": before["transformer"],
            **{f"replay {share:.0%}": figures(added(share, **ALONE))["transformer"] for share in SHARES},
            "anew": figures(anew("all", **ALONE))["transformer"],
        },
    }
    sizes = {f"{name}_rows": frame.height for name, frame in tables.items()}
    return {**sizes, "old_test_rows": int(is_old.sum()), "runs": runs}


def _figures(trained: TrainedModel, *, test: Table, is_old: np.ndarray[Any, Any]) -> dict[str, dict[str, Any]]:
    """Return accuracies of the model and of its transformer alone, on test rows of old classes and of new ones."""
    texts, names = test.frame["text"].to_list(), np.array(trained.config.label_set.names)
    right = {}
    store = TokenStore.in_memory(trained.tokenizer.encode(texts))
    window = trained.config.model.max_seq_len
    logits = score(trained.model, store, max_seq_len=window, n_classes=len(names))
    right["transformer"] = names[logits.argmax(axis=1)] == np.array(test.frame["label"].to_list())
    answers = Predictor(trained).answer(texts).probs.argmax(axis=1)
    right["model"] = names[answers] == np.array(test.frame["label"].to_list())
    return {
        who: {
            "old": float(each[is_old].mean()),
            "new": None if is_old.all() else float(each[~is_old].mean()),
            "all": float(each.mean()),
            "seconds": trained.config.training_seconds,
        }
        for who, each in right.items()
    }


if __name__ == "__main__":
    main()
