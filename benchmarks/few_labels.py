"""How accurate is a model of 8 to 64 labelled rows of each class, beside TF-IDF and naive Bayes on the same rows?

    python -m benchmarks.few_labels
    python -m benchmarks.few_labels --only trec --minutes 30
    python -m benchmarks.few_labels --quick

Each draw takes other training rows. The rows that were not drawn lose their labels, and are what pre-training reads.
The official test rows are answered and decide nothing. Finished models are kept in the work folder, so a stopped
benchmark goes on where it was. After `--minutes`, no further transformer is trained: what is missing then is left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from benchmarks.bench_data import Cut, cut_rows, entries_named
from benchmarks.bench_opponents import TOKEN
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import classifier
from benchmarks.paired import over_rows
from benchmarks.tables_few import few_tables
from glassformer.data.documents import Documents
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.evaluation.baselines import TfidfBaseline
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

PLAN: Mapping[str, Sequence[int]] = {
    "trec": (8, 16, 32, 64),
    "disaster-tweets": (8, 16, 32, 64),
    "clinc150": (8, 16, 32),
}
COUNTING, OURS, PRETRAINED = "ours, counting alone", "ours", "ours, pre-trained"
TFIDF, NAIVE_BAYES = "TF-IDF + logistic regression", "naive Bayes"
SECONDS, DRAWS = 60, 3  # of pre-training; of the rows
_TRIAL = (8,)
Right = np.ndarray[Any, np.dtype[np.bool_]]
Place = tuple[str, int]
"""A table, and the number of rows of each class."""
Answered = dict[Place, dict[str, list[Right]]]


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--only", nargs="+", metavar="TABLE", help=f"of {', '.join(PLAN)}")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after these, no transformer is trained")
    options = parser.parse_args()
    draws = range(1 if options.quick else DRAWS)
    began = time.monotonic()
    with running(options) as experiment:
        plan = [(name, rows) for name in options.only or PLAN for rows in (_TRIAL if experiment.quick else PLAN[name])]
        right: Answered = {place: {} for place in plan}
        for contestant, draw in _order(draws):
            for place in plan:
                late = time.monotonic() - began > 60 * options.minutes
                if late and contestant in (OURS, PRETRAINED):
                    continue
                for answered_by, rows_right in answers(experiment, place, contestant, draw).items():
                    right[place].setdefault(answered_by, []).append(rows_right)
        found = {"seconds": SECONDS, "lines": [line(place, right[place]) for place in plan]}
        experiment.write("few-labels", found, few_tables)


def _order(draws: range) -> list[tuple[str, int]]:
    """Return the contestants and draws: the quick ones first, then every transformer for one draw after the other."""
    return [
        *((name, draw) for name in (TFIDF, COUNTING) for draw in draws),
        *((name, draw) for draw in draws for name in (OURS, PRETRAINED)),
    ]


def answers(experiment: Experiment, place: Place, contestant: str, draw: int) -> dict[str, Right]:
    """Return which test rows a contestant answers rightly. With TF-IDF comes naive Bayes."""
    name, per_class = place
    (entry,) = entries_named([name])
    cut = cut_rows(entry, 0, test=True)
    chosen, rest = few_rows(cut.train, per_class, draw)
    part = Cut(train=chosen, held_out=cut.held_out)
    if contestant == TFIDF:
        return opponents(part)
    return {contestant: ours(experiment, f"few-labels/{name}-{per_class}-{draw}", contestant, part, rest, draw)}


def line(place: Place, right: Mapping[str, list[Right]]) -> dict[str, Any]:
    """Return the accuracy of all contestants with so many rows of each class."""
    name, per_class = place
    (entry,) = entries_named([name])
    cut = cut_rows(entry, 0, test=True)
    return {
        "table": name,
        "per_class": per_class,
        "rows": few_rows(cut.train, per_class, 0)[0].frame.height,
        "test_rows": cut.held_out.frame.height,
        "test_sha256": fingerprint(cut.held_out),
        "contestants": {
            contestant: {
                "of_draws": [float(each.mean()) for each in of_draws],
                "accuracy": over_rows(of_draws),
                "over_tfidf": None if contestant == TFIDF else _difference(of_draws, right[TFIDF]),
            }
            for contestant, of_draws in right.items()
        },
    }


def _difference(mine: list[Right], theirs: list[Right]) -> dict[str, float]:
    """Return the mean difference on the same draws, with an interval over the test rows."""
    differences = [a.astype(float) - b.astype(float) for a, b in zip(mine, theirs, strict=False)]
    return over_rows(differences)


def few_rows(table: Table, per_class: int, draw: int) -> tuple[Table, Table]:
    """Draw so many rows of each class, and return them and the rest. A class with fewer rows gives all but one."""
    random = np.random.default_rng([draw, per_class])
    labels = table.frame["label"].to_numpy()
    chosen = np.zeros(len(labels), bool)
    for label in sorted(set(labels.tolist())):
        rows = np.flatnonzero(labels == label)
        chosen[random.permutation(rows)[: min(per_class, len(rows) - 1)]] = True
    return (
        replace(table, frame=table.frame.filter(chosen), dropped=()),
        replace(table, frame=table.frame.filter(~chosen), dropped=()),
    )


def opponents(cut: Cut) -> dict[str, Right]:
    """Return which test rows TF-IDF and naive Bayes answer rightly."""
    names = LabelSet.from_table(cut.train)
    texts, labels = cut.train.frame["text"].to_list(), names.encode(cut.train)
    test, truth = cut.held_out.frame["text"].to_list(), names.encode(cut.held_out)
    tfidf = TfidfBaseline(len(names.names), multilabel=False)
    tfidf.fit(texts, labels)
    bayes = make_pipeline(CountVectorizer(ngram_range=(1, 2), token_pattern=TOKEN), MultinomialNB())
    bayes.fit(texts, labels)
    return {
        TFIDF: tfidf.answers(test).argmax(axis=1) == truth,
        NAIVE_BAYES: bayes.predict(test) == truth,
    }


def ours(experiment: Experiment, name: str, contestant: str, cut: Cut, rest: Table, seed: int) -> Right:
    """Train one of our models, or read the kept one, and return which test rows it answers rightly."""
    settings: dict[str, Any] = {"training.seed": seed}
    unlabelled: tuple[Documents, ...] = ()
    if contestant == COUNTING:
        settings |= {"training.epochs": 0, "model.body": "none"}
    elif contestant == PRETRAINED:
        settings["pretraining.max_seconds"] = SECONDS
        unlabelled = (Documents(texts=rest.frame["text"], source="the rest"),)
    recipe = load_recipe(None, overrides=settings)
    short = contestant.removeprefix("ours").strip(", ").replace(" ", "-") or "default"
    folder = classifier(experiment, f"{name}-{short}", recipe, cut.train, test=cut.held_out, unlabelled=unlabelled)
    predictor = Predictor.load(folder)
    labels = predictor.trained.config.label_set.encode(cut.held_out)
    found: Right = predictor.logits(cut.held_out.frame["text"].to_list()).argmax(axis=1) == labels
    return found


if __name__ == "__main__":
    main()
