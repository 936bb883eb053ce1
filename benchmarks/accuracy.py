"""Train, evaluate and duel on a known data set, over seeds or folds.

python -m benchmarks.accuracy zhou --seeds 10
python -m benchmarks.accuracy disaster-tweets --seeds 5
python -m benchmarks.accuracy disaster-tweets --folds 5
python -m benchmarks.accuracy imdb
python -m benchmarks.accuracy imdb --unlabelled imdb
python -m benchmarks.accuracy imdb --recipe benchmarks/pretrained.toml --unlabelled imdb
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from sklearn.model_selection import StratifiedKFold

from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import classifier, read_splits
from glassformer.data.documents import Documents, read_unlabelled
from glassformer.data.sources import Sources
from glassformer.data.table import Table
from glassformer.evaluation.evaluate_model import measure_model
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.evaluation_result import LabelEvaluation
from glassformer.training.recipe import Recipe, load_recipe

FOLDS_SEED = 42


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--recipe", help="a recipe by name or file; the default one if left out")
    parser.add_argument("--unlabelled", nargs="+", default=[], help="texts without labels, as in `train`")
    parser.add_argument("--seeds", type=int, default=1, help="runs on the official split, seeds 0, 1, …")
    parser.add_argument("--folds", type=int, help="cross-validation over training and test rows together instead")
    options = parser.parse_args()
    name = f"{options.data}-{options.folds}-fold" if options.folds else options.data
    name += f"-{Path(options.recipe).stem}" if options.recipe else "-unlabelled" if options.unlabelled else ""
    with running(options) as experiment:
        runs = []
        chosen = load_recipe(options.recipe).for_data(options.data, None)
        train, test = read_splits(experiment, options.data, group=chosen.validation.group)
        unlabelled = [read_unlabelled(source, like=train.text_column) for source in options.unlabelled]
        for number, (learned, held_out, seed) in enumerate(_splits(train, test, options.seeds, options.folds)):
            recipe = load_recipe(options.recipe, overrides={"training.seed": seed}).for_data(options.data, None)
            runs.append(_run(experiment, f"{name}-{number}", recipe, learned, held_out, unlabelled))
            print(f"{name} {number}: accuracy {runs[-1].metrics.accuracy.value:.4f}", file=sys.stderr, flush=True)
        experiment.write(name, _summary(runs))


def _splits(train: Table, test: Table, seeds: int, folds: int | None) -> list[tuple[Table, Table, int]]:
    if not folds:
        return [(train, test, seed) for seed in range(seeds)]
    frame = pl.concat([train.frame, test.frame]).sort("row", maintain_order=True)
    cut = StratifiedKFold(folds, shuffle=True, random_state=FOLDS_SEED).split(frame["text"], frame["label"])
    return [(replace(train, frame=frame[learned]), replace(train, frame=frame[held]), 0) for learned, held in cut]


def _run(
    experiment: Experiment, name: str, recipe: Recipe, train: Table, test: Table, unlabelled: list[Documents]
) -> LabelEvaluation:
    folder = classifier(experiment, name, recipe, train, test, unlabelled)
    seen = Sources(train=train, test=test).split(recipe.validation, seed=recipe.training.seed)
    found: LabelEvaluation = measure_model(Predictor.load(folder), folder, test, seen, split="test")[0]
    return found


def _summary(runs: list[LabelEvaluation]) -> dict[str, Any]:
    return {
        "accuracy": _spread([run.metrics.accuracy.value for run in runs]),
        "training_seconds": _spread([run.duel.model.fit_seconds or 0.0 for run in runs]),
        "baselines": {
            over_runs[0].name: {
                "accuracy": _spread([baseline.metrics.accuracy.value for baseline in over_runs]),
                "fit_seconds": _spread([baseline.fit_seconds or 0.0 for baseline in over_runs]),
            }
            for over_runs in zip(*(run.duel.baselines for run in runs), strict=True)
        },
        "notes": list(runs[0].notes),
        "runs": [_row(run) for run in runs],
    }


def _spread(values: list[float]) -> dict[str, float]:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": statistics.mean(values), "stdev": spread, "min": min(values), "max": max(values)}


def _row(run: LabelEvaluation) -> dict[str, Any]:
    """Return the figures of one run, without texts: the data sets are not ours to publish."""
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
        "comparisons": {
            each.baseline: each.model_dump(include={"difference", "mcnemar_p"}) for each in run.duel.comparisons
        },
    }


if __name__ == "__main__":
    main()
