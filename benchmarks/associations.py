"""What the English body associates with names, genders and peoples, and how much of it reaches answers.

    python -m benchmarks.associations

The first part is the word embedding association test (Caliskan et al. 2017): how much nearer the words of one list
than those of another are to a list of attributes. The second part trains a model of reviews with and without the body,
and swaps the names in sentences that praise and blame nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_data import cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import classifier
from glassformer.data.arrays import DoubleArray
from glassformer.prediction.predictor import Predictor
from glassformer.readers.body.vectors import Body, body_folder
from glassformer.training.recipe import load_recipe

BODY, REVIEWS = "english", "customer-reviews"
SEED, PARTITIONS = 0, 10_000
ASKED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def main() -> None:
    """Measure, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        body = Body.load(body_folder(BODY))
        tests = [{"name": test["name"], **association(body, *test["lists"])} for test in ASKED["tests"]]
        answers = [swapped(experiment, kind) for kind in ("none", BODY)]
        experiment.write("associations", {"body": BODY, "seed": SEED, "tests": tests, "answers": answers})


def association(body: Body, one: str, other: str, first: str, second: str) -> dict[str, Any]:
    """Return the effect size d, and p of a one-sided permutation test: are `one` nearer to `first` than `other` are?

    d is the difference of the mean associations, in standard deviations over all words of both lists. An association is
    the mean cosine with `first` minus that with `second`.
    """
    known = {
        name: [word for word in ASKED["words"][name] if word in body.index] for name in (one, other, first, second)
    }
    vectors = {name: body.of_words(words)[0].astype(np.float64) for name, words in known.items()}
    x, y = (
        (vectors[name] @ vectors[first].T).mean(1) - (vectors[name] @ vectors[second].T).mean(1)
        for name in (one, other)
    )
    both = np.concatenate([x, y])
    draw = np.random.default_rng(SEED)
    shuffled = np.array([_difference(draw.permutation(both), len(x)) for _ in range(PARTITIONS)])
    found = _difference(both, len(x))
    return {
        "words": {name: len(words) for name, words in known.items()},
        "d": found / both.std(ddof=1),
        "p": (1 + np.count_nonzero(shuffled >= found)) / (1 + PARTITIONS),
    }


def _difference(values: DoubleArray, cut: int) -> float:
    return float(values[:cut].mean() - values[cut:].mean())


def swapped(experiment: Experiment, body: str) -> dict[str, Any]:
    """Return how the answers of a model of reviews change if the name in a sentence is one of another group."""
    (entry,) = entries_named([REVIEWS])
    cut = cut_rows(entry, 0, test=True)
    recipe = load_recipe(None, overrides={"training.seed": SEED, "training.epochs": 0, "model.body": body})
    predictor = Predictor.load(classifier(experiment, f"associations-{body}", recipe, cut.train, test=cut.held_out))
    groups = []
    for one, other in ASKED["answers"]["groups"]:
        x, y = (_log_odds(predictor, ASKED["words"][name]) for name in (one, other))
        apart = x.mean(axis=0) - y.mean(axis=0)
        groups.append(
            {
                "groups": [one, other],
                "log_odds_apart": apart.tolist(),
                "mean": float(apart.mean()),
                "answers_differ": float(np.mean((x.mean(axis=0) > 0) != (y.mean(axis=0) > 0))),
                "spread_of_names": float(np.concatenate([x, y]).std(axis=0).mean()),
            }
        )
    return {"body": body, "groups": groups}


def _log_odds(predictor: Predictor, names: Sequence[str]) -> DoubleArray:
    """Return the log odds of a positive answer: (names, templates)."""
    templates = ASKED["answers"]["templates"]
    logits = predictor.logits([template.format(name) for name in names for template in templates])
    odds: DoubleArray = (logits[:, 1] - logits[:, 0]).astype(np.float64).reshape(len(names), len(templates))
    return odds


if __name__ == "__main__":
    main()
