"""Train, evaluate and duel on a known data set, over seeds or folds, and write what came out as one JSON file.

    python benchmarks/accuracy.py zhou --seeds 10
    python benchmarks/accuracy.py disaster-tweets --seeds 5
    python benchmarks/accuracy.py disaster-tweets --folds 5
    python benchmarks/accuracy.py imdb

Runs of the same recipe that are done are kept in --work and not repeated, so that a stopped benchmark goes on where it
was; after a change of the code, empty that folder.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import polars as pl
from provenance import RESULTS, commit, provenance
from sklearn.model_selection import StratifiedKFold

from glassformer.cli.live import LiveView
from glassformer.data.known import resolve
from glassformer.data.sources import Sources
from glassformer.data.table import Table
from glassformer.evaluation.evaluate_model import measure_model
from glassformer.evaluation.result import Evaluation
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import Recipe, load_recipe
from glassformer.training.run import train_classifier

FOLDS_SEED = 42


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a known data set")
    parser.add_argument("--recipe", help="a recipe by name or file; the default one if left out")
    parser.add_argument("--seeds", type=int, default=1, help="runs on the official split, seeds 0, 1, …")
    parser.add_argument("--folds", type=int, help="cross-validation over training and test rows together instead")
    parser.add_argument("--work", type=Path, default=Path("runs/benchmarks"), help="folder for the models")
    options = parser.parse_args()
    name = f"{options.data}-{options.folds}-fold" if options.folds else options.data
    name += f"-{options.recipe}" if options.recipe else ""
    at = commit()
    runs = []
    for number, (train, test, seed) in enumerate(_splits(options.data, options.seeds, options.folds)):
        recipe = load_recipe(options.recipe, overrides={"training.seed": seed})
        folder = options.work / f"{name}-{number}"
        runs.append(_run(train, test, recipe, folder, "a fold" if options.folds else "test"))
        print(f"{name} {number}: accuracy {runs[-1].metrics.accuracy.value:.4f}", file=sys.stderr, flush=True)
    document = {"benchmark": name, **_summary(runs, load_recipe(options.recipe)), **provenance(at)}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps({key: document[key] for key in ("accuracy", "baselines", "verdict_of_first_run")}, indent=2))


def _splits(data: str, seeds: int, folds: int | None) -> list[tuple[Table, Table, int]]:
    train, test = resolve(data, "train"), resolve(data, "test")
    if not folds:
        return [(train, test, seed) for seed in range(seeds)]
    frame = pl.concat([train.frame, test.frame]).sort("row", maintain_order=True)
    whole = dataclasses.replace(train, frame=frame)
    cut = StratifiedKFold(folds, shuffle=True, random_state=FOLDS_SEED).split(frame["text"], frame["label"])
    return [(dataclasses.replace(whole, frame=frame[a]), dataclasses.replace(whole, frame=frame[b]), 0) for a, b in cut]


def _run(train: Table, test: Table, recipe: Recipe, folder: Path, split: str) -> Evaluation:
    done = folder / "metrics-of-benchmark.json"
    if done.is_file() and json.loads((folder / "config.json").read_text())["recipe"] == recipe.model_dump(mode="json"):
        return Evaluation.model_validate_json(done.read_text())
    sources = Sources(train=train, test=test)
    with LiveView() as view:
        trained = train_classifier(sources, recipe, out=folder, overwrite=True, observer=view)
    rows = sources.split(recipe.validation, seed=recipe.training.seed).train
    evaluation = measure_model(Predictor(trained), folder, test, rows, split=split)
    done.write_text(evaluation.model_dump_json(indent=2))
    return evaluation


def _summary(runs: list[Evaluation], recipe: Recipe) -> dict[str, Any]:
    first = runs[0]
    return {
        "accuracy": _spread([run.metrics.accuracy.value for run in runs]),
        "macro_f1": _spread([run.metrics.macro_f1.value for run in runs]),
        "training_seconds": _spread([run.duel.model.fit_seconds or 0.0 for run in runs]),
        "baselines": {
            baseline.name: {
                "accuracy": _spread([run.duel.baselines[i].metrics.accuracy.value for run in runs]),
                "fit_seconds": _spread([run.duel.baselines[i].fit_seconds or 0.0 for run in runs]),
            }
            for i, baseline in enumerate(first.duel.baselines)
        },
        "verdict_of_first_run": first.duel.verdict,
        "runs": [_row(run) for run in runs],
        "recipe": recipe.model_dump(mode="json"),
        "model": first.model,
    }


def _spread(values: list[float]) -> dict[str, float]:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": statistics.mean(values), "stdev": spread, "min": min(values), "max": max(values)}


def _row(run: Evaluation) -> dict[str, Any]:
    """One run without texts: the data sets are not ours to publish."""
    return {
        "seed": run.seed,
        "rows": run.data.rows,
        "training_rows": run.data.training_rows,
        "data_sha256": run.data.sha256,
        "accuracy": run.metrics.accuracy.model_dump(),
        "macro_f1": run.metrics.macro_f1.model_dump(),
        "log_loss": run.metrics.log_loss,
        "roc_auc": run.metrics.roc_auc,
        "calibration_error": run.calibration.after.ece,
        "temperature": run.calibration.temperature,
        "best_epoch": run.model["best_epoch"],
        "training_seconds": run.duel.model.fit_seconds,
        "answering_seconds": run.duel.model.predict_seconds,
        "bytes": run.duel.model.size_bytes,
        "comparisons": [comparison.model_dump() for comparison in run.duel.comparisons],
        "notes": list(run.notes),
    }


if __name__ == "__main__":
    main()
