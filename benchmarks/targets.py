"""Numbers and ordered classes as targets: how good are the answers, and do the intervals hold what they promise?

    python -m benchmarks.targets
    python -m benchmarks.targets --quick

Models of the preset `tiny` are trained on each table with each seed. A number is compared with ridge regression on
TF-IDF, trained on the same rows. Cumulative logits for ordered classes (`model.head=ordered`) are compared with a score
for each class, and with TF-IDF + logistic regression. The test rows only measure. Finished models are kept in the work
folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.bench_data import read_rows
from benchmarks.experiment import Experiment, again, arguments, running
from benchmarks.models import QUICK_ROWS, answers_by, apart_from, classifier, of_trial
from benchmarks.paired import over_rows
from benchmarks.tables_targets import targets_tables
from glassformer.cli.live import LiveView
from glassformer.data.known import Split, data_folders, resolve
from glassformer.data.labels import ordered_labels
from glassformer.data.numbers import numbers_of
from glassformer.data.sources import SourceConfig, Sources, read_sources
from glassformer.data.splits import ValidationConfig, fingerprint
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.evaluation.baselines import TfidfBaseline, run_baseline
from glassformer.evaluation.ranks import ranks_of
from glassformer.prediction.predictor import Predictor
from glassformer.targets.number.evaluation_baselines import RidgeBaseline
from glassformer.targets.number.evaluation_metrics import difference_in_r2, measure_numbers
from glassformer.targets.number.target import number_of
from glassformer.targets.probabilities import probabilities
from glassformer.training.recipe import Recipe, load_recipe, with_settings
from glassformer.training.run import train_model

train_number = partial(train_model, family="number")

PRESET, SEEDS = "tiny", (0, 1, 2)
ASKED = (0.8, 0.9, 0.95)
IMDB_ROWS, FEEDBACK_ROWS = 2_500, 3_000
_TEST_SEED = 42


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table by the function that reads a split of it.

    Attributes:
        order: of ordered classes; None if they are numbers.
        rows: how many rows are drawn from each split; None for all. The test rows are the same for all seeds.
    """

    read: Callable[[Split], Table]
    order: tuple[str, ...] | None = None
    rows: int | None = None

    def cut(self, seed: int, *, quick: bool) -> tuple[Table, Table]:
        """Return training rows without the test texts, and test rows."""
        most = QUICK_ROWS if quick else self.rows
        train, test = _drawn(self.read("train"), most, seed), _drawn(self.read("test"), most, _TEST_SEED)
        return apart_from(test, train), test


def _drawn(table: Table, most: int | None, seed: int) -> Table:
    if most is None or most >= table.frame.height:
        return table
    return replace(table, frame=table.frame.sample(most, seed=seed).sort("row"))


def sick(split: Split) -> Table:
    """Read pairs of sentences with their relatedness from 1 to 5. Both sentences are one text."""
    return table_of_pairs(_sick() / f"{split}.parquet")


def sick_pairs(split: Split) -> Table:
    """Read the same pairs as two texts."""
    sentences: dict[str, Any] = {"text": "sentence_a", "other_texts": ("sentence_b",), "label": "relatedness"}
    files: dict[str, Any] = {name: str(_sick() / f"{name}.parquet") for name in ("train", "test")}
    read = read_sources(SourceConfig(**files, **sentences), ValidationConfig(), None)
    table = read.train if split == "train" else read.test
    assert table is not None
    return replace(table, source="sick")


def _sick() -> Path:
    path = next((folder / "sick" for folder in data_folders() if (folder / "sick").is_dir()), None)
    if path is None:
        raise UsageError("sick is not on this machine; name the folder that holds it with GLASSFORMER_DATA")
    return path


def table_of_pairs(path: Path) -> Table:
    frame = pl.read_parquet(path).select(
        text=pl.col("sentence_a") + " / " + pl.col("sentence_b"), label=pl.col("relatedness").cast(pl.String)
    )
    return Table(
        frame=frame.with_row_index("row", offset=1), source="sick", text_column="text", label_column="relatedness"
    )


def ratings(split: Split) -> Table:
    """Read film reviews with their ratings, 1 to 4 and 7 to 10."""
    return resolve("imdb", split, label="rating", group="movie" if split == "train" else None)


def feedback(split: Split) -> Table:
    """Read feedback of students: negative, neutral or positive."""
    return read_rows("vietnamese-feedback", split)


NUMBERS = {
    "sick, one text": Source(read=sick),
    "sick, two texts": Source(read=sick_pairs),
    "imdb, rating": Source(read=ratings, rows=IMDB_ROWS),
}
ORDERED = {
    "vietnamese-feedback": Source(read=feedback, order=("negative", "neutral", "positive"), rows=FEEDBACK_ROWS),
}


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        numbers = [number_line(experiment, name, source) for name, source in NUMBERS.items()]
        ordered = [ordered_line(experiment, name, source) for name, source in ORDERED.items()]
        found = {"preset": PRESET, "seeds": SEEDS, "numbers": numbers, "ordered": ordered}
        experiment.write("targets", found, targets_tables)


def recipe_for(seed: int, train: Table) -> Recipe:
    group = "movie" if "group" in train.frame.columns else None
    return load_recipe(None, preset=PRESET, overrides={"training.seed": seed, "validation.group": group})


def number_line(experiment: Experiment, name: str, source: Source) -> dict[str, Any]:
    """Return the figures of a number. All seeds answer the same test rows; intervals are over these rows."""
    runs = [number_run(experiment, name, source, seed) for seed in SEEDS]
    truth = runs[0]["truth"]
    squares = {who: np.mean([(each[who] - truth) ** 2 for each in runs], axis=0) for who in ("model", "ridge")}
    return {
        "table": name,
        **_rows(runs),
        "mean": float(truth.mean()),
        "deviation": float(truth.std()),
        "answers_by": [each["answers_by"] for each in runs],
        **{who: _means([_number_figures(each[who], truth) for each in runs]) for who in ("model", "ridge")},
        "difference_in_r2": difference_in_r2(squares["model"], squares["ridge"], truth).model_dump(),
        "intervals": [
            {
                "asked": asked,
                "distance": float(np.mean([each["distances"][number] for each in runs])),
                "coverage": over_rows([each["inside"][number] for each in runs]),
                "of_seeds": [float(each["inside"][number].mean()) for each in runs],
            }
            for number, asked in enumerate(ASKED)
        ],
    }


def number_run(experiment: Experiment, name: str, source: Source, seed: int) -> dict[str, Any]:
    """Train with a seed, or read the kept model, and return its answers to the test rows."""
    train, test = source.cut(seed, quick=experiment.quick)
    recipe = recipe_for(seed, train)
    recipe = of_trial(recipe) if experiment.quick else recipe

    def make(folder: Path) -> None:
        with LiveView() as view:
            sources = Sources(train=train, test=test)
            train_number(sources, recipe, out=folder, **again(folder), observer=view)

    decided_by = {"recipe": recipe.model_dump(mode="json"), "rows": [fingerprint(train), fingerprint(test)]}
    folder = experiment.model(f"targets/number-{_tidy(name)}-{seed}", decided_by, make)
    predictor, texts, truth = Predictor.load(folder), test.frame["text"].to_list(), numbers_of(test)
    answers = predictor.answer(texts).values
    groups = train.frame["group"].to_numpy() if "group" in train.frame.columns else None
    ridge = RidgeBaseline(groups).fit(train.frame["text"].to_list(), numbers_of(train))
    target = number_of(predictor.trained.config.target)
    distances = [target.distance(predictor.held_out, asked) or np.inf for asked in ASKED]
    return {
        **_facts(train, test),
        "truth": truth,
        "model": answers,
        "ridge": ridge.answers(texts),
        "answers_by": answers_by(predictor.trained.config),
        "distances": distances,
        "inside": [np.abs(answers - truth) <= distance for distance in distances],
    }


def _number_figures(answers: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    found = measure_numbers(answers, truth, resamples=2)
    spearman = None if found.spearman is None else found.spearman.value
    return {"r2": found.r2.value, "mae": found.mae.value, "spearman": spearman or 0.0}


def ordered_line(experiment: Experiment, name: str, source: Source) -> dict[str, Any]:
    """Return the figures of ordered classes, of the same classes without their order, and of the baseline."""
    runs = [ordered_run(experiment, name, source, seed) for seed in SEEDS]
    off = {who: np.mean([each["off"][who] for each in runs], axis=0) for who in runs[0]["off"]}
    return {
        "table": name,
        **_rows(runs),
        "classes": runs[0]["classes"],
        "answers_by": {head: [each["answers_by"][head] for each in runs] for head in ("ordered", "classes")},
        "figures": {who: _means([each["figures"][who] for each in runs]) for who in off},
        "difference_in_distance": {
            "both": over_rows(off["ordered"] - off["classes"]),
            "transformer": over_rows(off["ordered, the transformer alone"] - off["classes, the transformer alone"]),
        },
    }


def ordered_run(experiment: Experiment, name: str, source: Source, seed: int) -> dict[str, Any]:
    """Train both heads with a seed, and return how far off their answers to the test rows are."""
    train, test = source.cut(seed, quick=experiment.quick)
    order = ordered_labels(train, source.order)
    recipe, texts = recipe_for(seed, train), test.frame["text"].to_list()
    places = {label: place for place, label in enumerate(order)}
    labels = np.array([places[label] for label in test.frame["label"]])
    answers: dict[str, np.ndarray] = {}
    answered_by = {}
    for head, table in {"ordered": replace(train, order=order), "classes": train}.items():
        own = with_settings(recipe, {"model.head": head})
        predictor = Predictor.load(classifier(experiment, f"targets/{head}-{_tidy(name)}-{seed}", own, table, test))
        config = predictor.trained.config
        columns = [config.label_set.names.index(label) for label in order]
        answers[head] = predictor.answer(texts).probs[:, columns]
        alone = probabilities(predictor.alone("transformer", texts), multilabel=False)
        answers[f"{head}, the transformer alone"] = alone[:, columns]
        answered_by[head] = answers_by(config)
    known = np.array([places[label] for label in train.frame["label"]])
    groups = train.frame["group"].to_numpy() if "group" in train.frame.columns else None
    baseline = run_baseline(
        TfidfBaseline(len(order), groups=groups),
        train_texts=train.frame["text"].to_list(),
        truth=known,
        texts=texts,
    )
    answers["TF-IDF + logistic regression"] = baseline.answers
    figures = {}
    for measured in ranks_of(answers, labels, resamples=2):
        right = measured.off_by[0] / len(labels)
        spearman, kappa = (0.0 if each is None else each.value for each in (measured.spearman, measured.kappa))
        figures[measured.name] = {
            "accuracy": right, "distance": measured.mae.value, "spearman": spearman, "kappa": kappa
        }  # fmt: skip
    return {
        **_facts(train, test),
        "classes": len(order),
        "answers_by": answered_by,
        "figures": figures,
        "off": {who: np.abs(probs.argmax(axis=1) - labels) for who, probs in answers.items()},
    }


def _facts(train: Table, test: Table) -> dict[str, Any]:
    return {"rows": train.frame.height, "test_rows": test.frame.height, "test_sha256": fingerprint(test)}


def _rows(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "training_rows": [each["rows"] for each in runs],
        "test_rows": runs[0]["test_rows"],
        "test_sha256": runs[0]["test_sha256"],
    }


def _means(of_seeds: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([each[key] for each in of_seeds])) for key in of_seeds[0]}


def _tidy(name: str) -> str:
    return name.split(",")[0]


if __name__ == "__main__":
    main()
