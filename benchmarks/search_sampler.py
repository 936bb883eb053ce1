"""Would Optuna's TPE sampler find better settings than random choice, which `glassformer search` uses?

pip install optuna
python -m benchmarks.search_sampler
python -m benchmarks.search_sampler --quick

All combinations of four settings are trained once on 1,000 training rows: small transformers without counting on one
table, and logistic regression on TF-IDF, which takes little time, on two. Then both samplers choose from these, many
times. What they see is the loss on half of the held-out training rows; what counts is the loss of their choice on the
other half. No test row is read.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks.bench_data import Cut, Entry, cut_rows
from benchmarks.experiment import Experiment, arguments, running
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.evaluation.intervals import bootstrap_mean
from glassformer.experiments.search.trial import measure
from glassformer.targets.labels.experiments import PART as LABELS
from glassformer.training.recipe import load_recipe

TABLES = {"trec": "transformer", "disaster-tweets": "TF-IDF", "customer-reviews": "TF-IDF"}
ROWS = 1_000
Grid = Mapping[str, Sequence[Any]]
GRIDS: dict[str, Grid] = {
    "transformer": {
        "training.learning_rate": (2.5e-4, 5e-4, 1e-3, 2e-3),
        "training.epochs": (2, 4, 8),
        "model.pooling": ("mean", "max", "attention"),
        "model.dropout": (0.1, 0.5),
    },
    "TF-IDF": {
        "analyzer": ("word", "char_wb"),
        "longest n-gram": (1, 2, 4),
        "min_df": (1, 3),
        "C": (0.1, 0.3, 1, 3, 10, 30),
    },
}
FIXED = {"model.d_model": 64, "model.n_heads": 2, "model.n_layers": 2, "model.counting": "none",
         "training.min_steps_per_epoch": 1}  # fmt: skip
TRIALS = (10, 20, 40)
STARTUP = 4  # random trials before TPE begins; Optuna's own number is 10, which would leave none of ten
SEEDS = 50
_MOST_ASKED = 5  # proposals for each trial


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        tables = dict(list(TABLES.items())[1:2]) if experiment.quick else TABLES
        lines = [
            {"table": table, "model": model} | compare(GRIDS[model], _losses(experiment, table, model))
            for table, model in tables.items()
        ]
        experiment.write(
            "search_sampler", {"rows": ROWS, "seeds": SEEDS, "startup": STARTUP, "grids": GRIDS, "lines": lines}
        )


def _losses(experiment: Experiment, table: str, model: str) -> np.ndarray:
    """Return the log loss of each combination on both halves of the held-out rows: (combinations, 2)."""
    cut = cut_rows(Entry(name=table, data=table, rows=ROWS, minutes=1), 0, test=False, quick=experiment.quick)
    half = np.random.default_rng(0).permutation(cut.held_out.frame.height) % 2 == 0
    folder = experiment.work / "search-sampler" / fingerprint(cut.train)[:12]
    losses = []
    for settings in combinations(GRIDS[model]):
        if model == "transformer":
            recipe = load_recipe(None, overrides=FIXED | settings)
            rows = np.array(measure(LABELS, recipe, Sources(train=cut.train), cut.held_out, folder)[0].rows["log_loss"])
        else:
            rows = _tfidf_losses(cut, settings)
        losses.append((rows[half].mean(), rows[~half].mean()))
        print(table, settings, *np.round(losses[-1], 4), file=sys.stderr)
    return np.array(losses)


def _tfidf_losses(cut: Cut, settings: Mapping[str, Any]) -> np.ndarray:
    """Return the log loss of each held-out row: (rows,)."""
    analyzer, longest, fewest = (settings[name] for name in ("analyzer", "longest n-gram", "min_df"))
    vectors = TfidfVectorizer(analyzer=analyzer, ngram_range=(1, longest), min_df=fewest, sublinear_tf=True)
    learned = vectors.fit_transform(cut.train.frame["text"].to_list())
    model = LogisticRegression(C=settings["C"], max_iter=1_000)
    model.fit(learned, cut.train.frame["label"].to_list())
    probs = model.predict_proba(vectors.transform(cut.held_out.frame["text"].to_list()))
    places = np.searchsorted(model.classes_, cut.held_out.frame["label"].to_list())
    return -np.log(probs[np.arange(len(probs)), places])


def combinations(grid: Grid) -> list[dict[str, Any]]:
    """Return all combinations, in the order of `np.unravel_index`."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def compare(grid: Grid, losses: np.ndarray, seeds: int = SEEDS) -> dict[str, Any]:
    """Return the mean loss of what each sampler chooses after some trials, and the differences to random choice.

    Args:
        losses: what the samplers see, and what counts, of each combination: (combinations, 2).
    """
    seen, counts = losses.T
    found = {
        "random": [_random(seen, max(TRIALS), seed) for seed in range(seeds)],
        "tpe": [_tpe(grid, seen, max(TRIALS), seed) for seed in range(seeds)],
    }
    line: dict[str, Any] = {
        "combinations": len(losses),
        "losses": {"best": counts.min(), "chosen_of_all": counts[seen.argmin()], "median": float(np.median(counts))},
        "trials": [],
    }
    for trials in TRIALS:
        seen_by, chosen = (
            {name: _best(of, seen, each, trials) for name, each in found.items()} for of in (seen, counts)
        )
        line["trials"].append(
            {
                "trials": trials,
                **{name: float(chosen[name].mean()) for name in found},
                "difference": bootstrap_mean(chosen["tpe"] - chosen["random"], seed=0).model_dump(),
                "seen_difference": bootstrap_mean(seen_by["tpe"] - seen_by["random"], seed=0).model_dump(),
            }
        )
    return line


def _best(of: np.ndarray, seen: np.ndarray, tried: Sequence[list[int]], trials: int) -> np.ndarray:
    """Return the losses of the combinations that look best after so many trials, one for each seed."""
    return np.array([of[min(order[:trials], key=lambda number: seen[number])] for order in tried])


def _random(seen: np.ndarray, trials: int, seed: int) -> list[int]:
    return np.random.default_rng(seed).permutation(len(seen))[:trials].tolist()


def _tpe(grid: Grid, seen: np.ndarray, trials: int, seed: int) -> list[int]:
    """Numbers keep their order. A combination that was tried is told again, and does not count as a trial.

    If most proposals were tried before, the rest is random.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP, multivariate=True)
    study, tried = optuna.create_study(sampler=sampler), list[int]()
    sizes = [len(values) for values in grid.values()]
    for _ in range(_MOST_ASKED * trials):
        if len(tried) == trials:
            break
        trial = study.ask()
        places = [_place(trial, key, values) for key, values in grid.items()]
        number = int(np.ravel_multi_index(places, sizes))
        if number not in tried:
            tried.append(number)
        study.tell(trial, seen[number])
    others = [number for number in _random(seen, len(seen), seed) if number not in tried]
    return (tried + others)[:trials]


def _place(trial: Any, key: str, values: Sequence[Any]) -> int:
    if isinstance(values[0], str):
        return values.index(trial.suggest_categorical(key, values))
    return int(trial.suggest_int(key, 0, len(values) - 1))


if __name__ == "__main__":
    main()
