"""The contestants of the bench: our defaults, their readers alone, and other classifiers. Their answers are kept."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import bench_opponents
from benchmarks.bench_data import Cut
from benchmarks.bench_opponents import FastText, NaiveBayesRegression
from benchmarks.experiment import Experiment
from benchmarks.models import classifier
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.wording import duration
from glassformer.evaluation.baselines import TfidfBaseline, run_baseline
from glassformer.evaluation.measured import Baseline
from glassformer.experiments.keeper import keep, read_kept, run_key
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import Recipe, load_recipe

OURS, TFIDF, NB_LR, FASTTEXT = "ours", "TF-IDF", "NB-LR", "fastText"
MADE_OF = "made-of.json"  # the file that `Experiment.model` adds to a model folder


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The class numbers that a contestant gave to the held-out rows, in their order, and its cost.

    A reader alone has no cost, as it is trained as a part of our model.
    """

    answers: list[int]
    training_seconds: float | None = None
    answering_seconds: float | None = None
    bytes: int | None = None
    notes: tuple[str, ...] = ()


ByName = dict[str, Answered]


def answers(experiment: Experiment, folder: str, seed: int, cut: Cut) -> ByName:
    """Return what all contestants answer to the held-out rows. Answers that are kept are not made again.

    fastText is left out if it is not installed.

    Args:
        folder: for the models and the answers, below the folder of the experiment.
    """
    made_of = {"training": fingerprint(cut.train), "held_out": fingerprint(cut.held_out), "seed": seed}
    n_classes = len(LabelSet.from_table(cut.train).names)

    def kept(name: str, key: str, make: Callable[[], ByName]) -> ByName:
        file = experiment.work / folder / f"{seed}-{name}-{key}.json"
        found = read_kept(file, ByName)
        if found is None:
            found = make()
            keep(file, found)
            for contestant, answered in found.items():
                print(f"  {contestant}: {_in_words(answered, cut)}", file=sys.stderr, flush=True)
        return found

    def opponent(name: str, baseline: Baseline) -> Callable[[], ByName]:
        return lambda: {name: _of_opponent(baseline, cut)}

    recipe = load_recipe(None, overrides={"training.seed": seed}).for_data(cut.train.source, None)
    of_ours = {**made_of, "recipe": recipe.model_dump(mode="json"), "quick": experiment.quick}
    found = kept("ours", run_key(of_ours), lambda: _ours(experiment, f"{folder}/{seed}", recipe, cut))
    found |= kept("tf-idf", run_key(made_of), opponent(TFIDF, TfidfBaseline(n_classes)))
    found |= kept("nb-lr", _key(made_of), opponent(NB_LR, NaiveBayesRegression(n_classes)))
    if FastText.is_installed():
        found |= kept("fasttext", _key(made_of), opponent(FASTTEXT, FastText(n_classes, seed=seed)))
    return found


def _key(made_of: dict[str, Any]) -> str:
    """Return the digest of a run of an opponent that uses nothing of glassformer."""
    libraries = [version("numpy"), version("scikit-learn"), version("fasttext") if FastText.is_installed() else ""]
    code = Path(bench_opponents.__file__).read_text(encoding="utf-8")
    return hashlib.sha256(json.dumps([made_of, libraries, code]).encode()).hexdigest()[:16]


def _ours(experiment: Experiment, name: str, recipe: Recipe, cut: Cut) -> ByName:
    """Train our defaults, and answer from the saved folder, as a whole and by each of its readers alone."""
    began = time.perf_counter()
    folder = classifier(experiment, name, recipe, cut.train)
    seconds = time.perf_counter() - began
    predictor, texts = Predictor.load(folder), cut.held_out.frame["text"].to_list()
    began = time.perf_counter()
    probs = predictor.answer(texts).probs
    answering_seconds = time.perf_counter() - began
    # A model that was trained by an earlier, stopped command says itself how long its steps took.
    seconds = max(seconds, predictor.trained.config.training_seconds)
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != MADE_OF)
    found = {
        OURS: Answered(
            answers=probs.argmax(axis=1).tolist(),
            training_seconds=seconds,
            answering_seconds=answering_seconds,
            bytes=sum(file.stat().st_size for file in files),
            notes=tuple(
                f"weight of {reader} {weight:.3f}" for reader, weight in predictor.trained.config.weights.items()
            ),
        )
    }
    return found | {name: Answered(answers=given) for name, given in readers_alone(predictor, texts).items()}


def readers_alone(predictor: Predictor, texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the class numbers that each reader of a model with two would answer, also one of weight 0.

    A transformer on which training gave up has learned nothing, and is left out.
    """
    if predictor.trained.config.readers is None:
        return {}
    learned = predictor.trained.metrics["history"]
    names = [name for name in predictor.trained.config.weights if learned or name != TRANSFORMER]
    return {name: predictor.alone(name, texts).argmax(axis=1).tolist() for name in names}


def _of_opponent(baseline: Baseline, cut: Cut) -> Answered:
    outcome = run_baseline(
        baseline,
        train_texts=cut.train.frame["text"].to_list(),
        truth=LabelSet.from_table(cut.train).encode(cut.train),
        texts=cut.held_out.frame["text"].to_list(),
    )
    return Answered(
        answers=outcome.answers.argmax(axis=1).tolist(),
        training_seconds=outcome.fit_seconds,
        answering_seconds=outcome.predict_seconds,
        bytes=outcome.size_bytes,
        notes=outcome.notes,
    )


def _in_words(answered: Answered, cut: Cut) -> str:
    right = np.array(answered.answers) == LabelSet.from_table(cut.train).encode(cut.held_out)
    took = "" if answered.training_seconds is None else f", {duration(answered.training_seconds)}"
    return ", ".join([f"accuracy {right.mean():.4f}{took}", *answered.notes])
