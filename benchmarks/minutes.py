"""What `--minutes` does with how much time: accuracy, and the planned and the true minutes.

python -m benchmarks.minutes
python -m benchmarks.minutes --only trec --minutes 1 5 --seeds 1
python -m benchmarks.minutes --quick

A fifth of the training rows is held out, by the seed, and no test row is read. Finished models are kept in the work
folder, so a stopped benchmark goes on where it was. A model that was trained by two commands, as the first was stopped,
has no true minutes.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_contestants import readers_alone
from benchmarks.bench_data import Cut, Entry, cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.tables_minutes import minutes_tables
from glassformer.cli.live import LiveView
from glassformer.data.labels import LabelSet
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.experiments.keeper import keep, read_kept
from glassformer.prediction.folder_format import is_unfinished
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model

TABLES = ("trec-500", "disaster-tweets", "imdb-3k")
MINUTES = (0.5, 2.0, 5.0, 15.0, 60.0)
OF_TRIAL = (("trec-500",), (0.05, 0.5))
_TOOK = "minutes.json"  # the file in a model folder that says how long it was trained


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--seeds", type=int, default=2, help="runs of each table, seeds 0, 1, … (default: 2)")
    parser.add_argument(
        "--only", nargs="+", metavar="ENTRY", help="other tables, by their names in the bench of tables"
    )
    parser.add_argument("--minutes", nargs="+", type=float, help="other times")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds needs at least 1")
    names, minutes = OF_TRIAL if options.quick else (TABLES, MINUTES)
    with running(options) as experiment:
        entries = entries_named(options.only or names)
        seeds = range(1 if options.quick else options.seeds)
        found = document(experiment, entries, options.minutes or minutes, seeds)
        experiment.write("minutes/minutes", found, minutes_tables)


def document(
    experiment: Experiment, entries: Sequence[Entry], minutes: Sequence[float], seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the result: a line for each table and time, with its runs. Shorter times are run first."""
    lines = {(entry.name, each): list[dict[str, Any]]() for entry in entries for each in minutes}
    for seed in seeds:
        for each in minutes:
            for entry in entries:
                cut = cut_rows(entry, seed, test=False, quick=experiment.quick)
                lines[entry.name, each].append(_run(experiment, entry.name, cut, each, seed))
                print(f"{entry.name}, {each:g} minutes, seed {seed}: {lines[entry.name, each][-1]}", file=sys.stderr)
    return {
        "seeds": list(seeds),
        "lines": [
            {"table": name, "minutes": each, "mean": _means(runs), "runs": runs} for (name, each), runs in lines.items()
        ],
    }


def _run(experiment: Experiment, table: str, cut: Cut, minutes: float, seed: int) -> dict[str, Any]:
    """Train for these minutes, unless that was done before, and answer the held-out rows."""
    recipe = load_recipe(None, overrides={"training.seed": seed})

    def make(folder: Path) -> None:
        began, resume = time.perf_counter(), is_unfinished(folder)
        with LiveView() as view:
            train_model(
                Sources(train=cut.train), recipe,
                out=folder, resume=resume, overwrite=not resume, observer=view, minutes=minutes,
            )  # fmt: skip
        keep(folder / _TOOK, {"minutes": None if resume else (time.perf_counter() - began) / 60})

    made_of = {"recipe": recipe.model_dump(mode="json"), "rows": fingerprint(cut.train), "minutes": minutes}
    folder = experiment.model(f"minutes/{table}-{minutes:g}-{seed}", made_of, make)
    predictor, texts = Predictor.load(folder), cut.held_out.frame["text"].to_list()
    labels = LabelSet.from_table(cut.train).encode(cut.held_out)
    config, metrics = predictor.trained.config, predictor.trained.metrics
    alone = {name: float(np.mean(np.array(given) == labels)) for name, given in readers_alone(predictor, texts).items()}
    trained = config.recipe["training"]["epochs"] != 0
    return {
        "seed": seed,
        "training_rows": cut.train.frame.height,
        "rows": cut.held_out.frame.height,
        "data_sha256": fingerprint(cut.held_out),
        "accuracy": float((predictor.answer(texts).probs.argmax(axis=1) == labels).mean()),
        "counting": alone["counting"],
        "transformer": alone.get("transformer") if trained else None,
        "answers_by_counting": config.answers_by_counting,
        "settings": metrics["time_plan"]["settings"],
        "passes": config.data.get("pretraining", {}).get("passes"),
        "planned_minutes": metrics["time_plan"]["expected_minutes"],
        "true_minutes": (read_kept(folder / _TOOK, dict) or {}).get("minutes"),
    }


def _means(runs: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Return the mean of each figure over the seeds, or None if a seed does not have it."""
    names = ("accuracy", "counting", "transformer", "passes", "planned_minutes", "true_minutes")
    values = {name: [run[name] for run in runs] for name in names}
    return {name: None if None in found else statistics.mean(found) for name, found in values.items()}


if __name__ == "__main__":
    main()
