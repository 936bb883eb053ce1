"""Which method explains a transformer most faithfully, and at which cost.

python -m benchmarks.faithfulness
python -m benchmarks.faithfulness --quick

The transformer is trained without a counting reader, because the shares of counting are exact. A fifth of the training
rows is held out, and no test row is read. All methods explain the same held-out texts, whether the answer is right or
not. In `polarity` the grammar gives the true reasons (benchmarks/polarity_reasons.py).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.bench_data import hold_out_fifth, some_rows
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import classifier
from benchmarks.paired import over_rows
from benchmarks.polarity_reasons import reasons_of
from benchmarks.tables_faithfulness import faithfulness_tables
from glassformer.data.arrays import DoubleArray
from glassformer.data.known import resolve
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.explanation.by_reader import METHODS
from glassformer.explanation.explain import explain
from glassformer.explanation.explanation import FAITHFUL, Explanation
from glassformer.explanation.faithfulness import Margins, measure_faithfulness
from glassformer.explanation.occluding import SHAPLEY_WORDS
from glassformer.explanation.words import TextInWords
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.target import labels_of
from glassformer.training.recipe import load_recipe

TEXTS: Mapping[str, int] = {"polarity": 300, "disaster-tweets": 300, "imdb": 50}
SHORT = ("polarity", "disaster-tweets")
"""Of these, texts of at most `SHAPLEY_WORDS` words are explained. `shapley` refuses longer ones."""
OF_TRIAL: Mapping[str, int] = {"polarity": 5}
FEWEST_WORDS = 5  # shorter texts are left out: too few deletions are possible
SEED = 0

Figures = dict[str, float]


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        texts = OF_TRIAL if experiment.quick else TEXTS
        found = {
            "seed": SEED,
            "data": [_of_data(experiment, data, count) for data, count in texts.items()],
        }
        experiment.write("faithfulness", found, faithfulness_tables)


def trained_on(experiment: Experiment, data: str) -> tuple[Predictor, Table, Table]:
    """Return the transformer, the four fifths of the training rows that it saw, and the fifth that it did not see."""
    settings = {"model.counting": "none", "training.seed": SEED}
    recipe = load_recipe("polarity" if data == "polarity" else None, overrides=settings)
    train, held_out = hold_out_fifth(resolve(data, "train"), SEED)
    return Predictor.load(classifier(experiment, f"faithfulness/{data}", recipe, train)), train, held_out


def _of_data(experiment: Experiment, data: str, count: int) -> dict[str, Any]:
    predictor, train, held_out = trained_on(experiment, data)
    words = np.array([len(TextInWords.cut(text).words) for text in held_out.frame["text"]])
    fits = (words >= FEWEST_WORDS) & ((words <= SHAPLEY_WORDS) | (data not in SHORT))
    chosen = some_rows(replace(held_out, frame=held_out.frame.filter(pl.Series(fits))), count, SEED)
    texts = chosen.frame["text"].to_list()
    rows: dict[str, list[Figures]] = {method: [] for method in METHODS if method != "shapley" or data in SHORT}
    for number, text in enumerate(texts, 1):
        print(f"\r{data}: {number} of {len(texts)} texts", end="", file=sys.stderr, flush=True)
        margins = _remembering(predictor, text)
        for method, figures in rows.items():
            figures.append(figures_of(predictor, text, method, margins, with_reasons=data == "polarity"))
    print(file=sys.stderr)
    return {
        "data": data,
        "training_rows": train.frame.height,
        "accuracy": _accuracy(predictor, chosen),
        "texts": len(texts),
        "texts_sha256": fingerprint(chosen),
        "words": float(np.median([len(text.split()) for text in texts])),
        "methods": {
            method: {name: over_rows(np.array([row[name] for row in figures])) for name in figures[0]}
            for method, figures in rows.items()
        },
    }


def _accuracy(predictor: Predictor, table: Table) -> float:
    """Return the accuracy on the explained texts. If a model is often wrong, its reasons need not be the true ones."""
    answers = predictor.answer(table.frame["text"].to_list()).predictions()
    return float(np.mean([answer == label for answer, label in zip(answers, table.frame["label"], strict=True)]))


def _remembering(predictor: Predictor, text: str) -> Margins:
    """Return the margins of the answer to a text. All methods delete the same random words; these are answered once."""
    best, rival = np.argsort(-predictor.logits([text])[0])[:2]
    known: dict[str, float] = {}

    def margins(texts: Sequence[str]) -> DoubleArray:
        if new := [each for each in dict.fromkeys(texts) if each not in known]:
            logits = predictor.logits(new)
            known.update(zip(new, (logits[:, best] - logits[:, rival]).tolist(), strict=True))
        return np.array([known[each] for each in texts]) / labels_of(predictor.trained.config.target).temperature

    return margins


def figures_of(predictor: Predictor, text: str, method: str, margins: Margins, *, with_reasons: bool) -> Figures:
    """Explain a text by a method, and measure the explanation.

    Args:
        margins: those of the answer to the text.

    Returns:
        `score`, `comprehensiveness`, `sufficiency` (see `Faithfulness`), `trusted` (1 if the score is high enough for
        `explain` to say so), the absolute `margin` and `error` (what the shares leave over), `seconds` (without the
        check by deletion), and with reasons `first`: 1 if the word with the largest share is a true reason (the
        pointing game of Zhang et al. 2018), and `first_by_chance`.
    """
    began = time.perf_counter()
    found = explain(predictor, text, method=method, faithfulness=False)
    seconds = time.perf_counter() - began
    shares = np.array([word.total for word in found.words])
    checked = measure_faithfulness(TextInWords.cut(text), shares, margins)
    assert checked is not None, "the text has enough words"
    figures = {
        "score": checked.score,
        "comprehensiveness": checked.comprehensiveness,
        "sufficiency": checked.sufficiency,
        "trusted": float(checked.score >= FAITHFUL),
        "margin": abs(found.margin),
        "error": abs(found.unexplained),
        "seconds": seconds,
    }
    return figures | (_pointing(found) if with_reasons else {})


def _pointing(found: Explanation) -> Figures:
    """Say whether the word with the largest share is a true reason, and how often a word drawn by chance is one."""
    reasons = reasons_of(found.text)
    true = np.array([(word.start, word.end) in reasons for word in found.words])
    shares = np.array([abs(word.total) for word in found.words])
    return {"first": float(true[shares.argmax()]), "first_by_chance": float(true.mean())}


if __name__ == "__main__":
    main()
