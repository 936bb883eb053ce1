"""Find the thresholds of `sentiment-en` for `predict --automatic`, without training its transformer again.

    python -m benchmarks.sentiment_thresholds

The model in the package was trained before thresholds existed. Its transformer never learned the held-out rows. Its
counting reader learned them at the end, so one that did not is fitted again to the same rows as in training. The
answers must then give the figures that training wrote down, or nothing is changed. A model that `sentiment_en` trains
now has thresholds from the start.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.experiment import Experiment, arguments, running
from benchmarks.sentiment_en import SETTINGS, SHIPPED
from benchmarks.sentiment_rows import SEED, test_rows, training_rows, with_sentences
from glassformer.data.arrays import FloatArray
from glassformer.data.files import write_aside
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint, make_splits
from glassformer.errors import GlassformerError
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.labels.target import labels_of
from glassformer.targets.labels.training_readers import lessons_of
from glassformer.targets.probabilities import confidences_of, probabilities
from glassformer.targets.review import Thresholds
from glassformer.training.loop import Silent
from glassformer.training.preparation import Prepared, prepare
from glassformer.training.readers import learn_readers
from glassformer.training.recipe import load_recipe

ROUNDING = 1e-3
"""How far figures may differ: the weights in the package are rounded to float16."""


def main() -> None:
    """Find the thresholds, and write them into the folder in the package."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        prepared, predictor = _prepared(experiment), Predictor.load(SHIPPED)
        if fingerprint(prepared.splits.train) != predictor.trained.config.remembered.data.fingerprint:
            raise GlassformerError("these are not the rows that the model learned")
        assert prepared.validation_labels is not None
        add_thresholds(SHIPPED, held_out_probabilities(prepared, predictor), prepared.validation_labels)
        print(SHIPPED, file=sys.stderr)


def _prepared(experiment: Experiment) -> Prepared:
    """Return the run of `sentiment_en` before its first step."""
    whole, tests = training_rows(experiment), test_rows(experiment)
    everything = replace(whole, frame=pl.concat([test.frame.select("row", "text", "label") for test in tests.values()]))
    recipe = load_recipe(overrides=SETTINGS)
    splits = make_splits(whole, recipe.validation, seed=SEED, test=everything)
    sources = Sources(train=with_sentences(splits.train), validation=splits.validation, test=everything)
    return prepare(sources, recipe)


def held_out_probabilities(prepared: Prepared, predictor: Predictor) -> FloatArray:
    """Return the calibrated probabilities (rows, n_classes) of the validation rows by readers that never saw them."""
    config, validation = predictor.trained.config, prepared.splits.validation
    learned = learn_readers(prepared, lessons_of, Silent())
    if learned is None or validation is None or config.readers is None:
        raise GlassformerError("this needs validation rows and both readers")
    by_transformer = predictor.reader_logits(validation.frame["text"].to_list())["transformer"]
    logits = config.readers.counting.weight * learned.held_out["counting"] + by_transformer
    return probabilities(logits, temperature=labels_of(config.target).temperature, multilabel=False).astype(np.float32)


def add_thresholds(folder: Path, probs: FloatArray, labels: np.ndarray[Any, Any]) -> None:
    """Add the thresholds to `metrics.json`.

    Raises:
        GlassformerError: the answers are not those that training wrote down.
    """
    file = folder / "metrics.json"
    metrics = json.loads(file.read_text(encoding="utf-8"))
    usual = HeldOutAnswers.model_validate(metrics["held_out_answers"])
    assert usual.confidence is not None
    confidences = confidences_of(probs, multilabel=False)
    written = (metrics["readers"]["accuracy"], usual.confidence.mean, usual.confidence.sd, *usual.labels.values())
    found = (
        float((probs.argmax(axis=1) == labels).mean()), float(confidences.mean()), float(confidences.std()),
        *(np.bincount(probs.argmax(axis=1), minlength=len(usual.labels)) / len(probs)),
    )  # fmt: skip
    print("written", written, "\nfound", found, file=sys.stderr)
    if len(probs) != usual.rows or not np.allclose(written, found, rtol=0, atol=ROUNDING):
        raise GlassformerError("the answers to the held-out rows differ from those of training; nothing was changed")
    thresholds = Thresholds.of(probs, labels, multilabel=False)
    metrics["held_out_answers"] = usual.model_copy(update={"thresholds": thresholds}).model_dump()
    write_aside(file, json.dumps(metrics, indent=2) + "\n")


if __name__ == "__main__":
    main()
