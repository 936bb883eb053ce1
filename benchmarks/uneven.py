"""What do focal loss, class weights and balanced rows bring where classes are uneven?

    python -m benchmarks.uneven
    python -m benchmarks.uneven --quick

A model learns from a part of the training rows of a table. It answers a fifth of them that is held out, with all of its
readers and with its transformer alone. Each seed draws other rows to learn from; those held out are the same. No test
row is read. Finished models are kept in the work folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.bench_data import TEST_SEED, TRIAL_ROWS, hold_out_fifth, read_rows, some_rows
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import apart_from, classifier
from benchmarks.paired import over_rows
from benchmarks.tables_uneven import uneven_tables
from glassformer.data.arrays import Array, IntArray
from glassformer.data.splits import fingerprint
from glassformer.evaluation.intervals import bootstrap
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

ROWS = {"trec": 2_500, "vietnamese-feedback": 3_000}
"""Table → how many rows are learned."""
SEEDS = (0, 1)
PLAIN = "cross entropy"
WAYS: Mapping[str, Mapping[str, Any]] = {
    PLAIN: {},
    "focal loss": {"training.loss": "focal"},
    "balanced class weights": {"training.class_weights": "balanced"},
    "balanced rows": {"training.resample": "balanced"},
}
ALONE, ALL = "transformer alone", "all readers"


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        tables = [measured(experiment, data, rows) for data, rows in ROWS.items()]
        experiment.write("uneven", {"seeds": SEEDS, "tables": tables}, uneven_tables)


def measured(experiment: Experiment, data: str, rows: int) -> dict[str, Any]:
    """Return accuracy and macro F1 of the held-out rows, for each way to train, and what they gain over `PLAIN`."""
    train, held_out = hold_out_fifth(read_rows(data, "train"), TEST_SEED)
    seeds = SEEDS[: 1 if experiment.quick else None]
    if experiment.quick:
        rows, held_out = TRIAL_ROWS, some_rows(held_out, TRIAL_ROWS, TEST_SEED)
    texts, names = held_out.frame["text"].to_list(), sorted(held_out.frame["label"].unique())
    truth = np.array([names.index(label) for label in held_out.frame["label"]])
    answers: dict[tuple[str, str], list[IntArray]] = {(readers, way): [] for readers in (ALONE, ALL) for way in WAYS}
    asked = dict.fromkeys(WAYS, 0)
    for seed in seeds:
        learned = apart_from(held_out, some_rows(train, rows, seed))
        for way, settings in WAYS.items():
            recipe = load_recipe(None, overrides={"training.seed": seed, **settings})
            predictor = Predictor.load(classifier(experiment, f"uneven/{data}", recipe, learned, held_out))
            assert list(predictor.trained.config.label_set.names) == names
            answers[ALONE, way].append(predictor.alone(TRANSFORMER, texts).argmax(axis=1))
            answers[ALL, way].append(predictor.logits(texts).argmax(axis=1))
            asked[way] += not predictor.trained.config.transformer_is_silent
    return {
        "data": data,
        "rows": rows,
        "held_out_rows": len(truth),
        "held_out_sha256": fingerprint(held_out),
        "shares": {name: float((truth == number).mean()) for number, name in enumerate(names)},
        "transformer_asked": asked,
        "lines": list(_lines({key: np.stack(of_seeds) for key, of_seeds in answers.items()}, truth)),
    }


def _lines(answers: Mapping[tuple[str, str], IntArray], truth: IntArray) -> Iterator[dict[str, Any]]:
    for (readers, way), given in answers.items():
        plain = answers[readers, PLAIN]
        yield {
            "readers": readers,
            "way": way,
            "accuracy": over_rows(given == truth),
            "macro_f1": macro_f1(truth, given),
            "accuracy_gain": over_rows((given == truth) - (plain == truth).astype(np.int8)),
            "macro_f1_gain": macro_f1(truth, given, plain),
        }


def macro_f1(truth: IntArray, *sides: IntArray) -> dict[str, float]:
    """Return macro F1 with its interval over rows, or that of the first side minus that of the second.

    Args:
        truth: (rows,)
        sides: answers (seeds, rows), one or two. The mean over the seeds is taken.
    """
    classes = np.arange(truth.max() + 1)
    answered = np.stack(sides)[..., None] == classes
    labelled = np.broadcast_to(truth[:, None] == classes, answered.shape)
    rows = np.moveaxis(np.stack([answered & labelled, answered, labelled]), 3, 0)  # (rows, 3, sides, seeds, classes)

    def of(sums: Array) -> Array:
        hits, answered, labelled = np.moveaxis(sums.reshape(-1, *rows.shape[1:]), 1, 0)
        found = (2 * hits / np.maximum(answered + labelled, 1)).mean(axis=(2, 3))  # (draws, sides)
        less: Array = found[:, 0] - found[:, 1:].sum(axis=1)
        return less

    return bootstrap(rows.reshape(len(rows), -1), np.ones(len(rows), np.int64), of, seed=0).model_dump()


if __name__ == "__main__":
    main()
