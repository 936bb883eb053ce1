"""How accurate is a model of 8 to 128 labelled rows of each class, beside the usual classifiers on the same rows?

    python -m benchmarks.few_labels
    python -m benchmarks.few_labels --only trec
    python -m benchmarks.few_labels --quick

Each draw takes other training rows, the same for all. The official test rows are answered and decide nothing. Finished
models are kept in the work folder, so a stopped benchmark goes on where it was.
"""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import hstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from benchmarks.bench_data import Cut, cut_rows, entries_named
from benchmarks.bench_opponents import TOKEN, FastText
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import classifier
from benchmarks.paired import over_rows
from glassformer.data.arrays import IntArray
from glassformer.data.documents import Documents
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.evaluation.baselines import TfidfBaseline
from glassformer.prediction.predictor import Predictor
from glassformer.readers.body.vectors import Body, body_folder
from glassformer.training.recipe import load_recipe

SIZES = (8, 32, 128)
PLAN: Mapping[str, Sequence[int]] = {
    "trec": SIZES,
    "disaster-tweets": SIZES,
    "customer-reviews": SIZES,
    "sentiment140": SIZES,
    "imdb": SIZES,
    "clinc150": (8, 32),
}
DRAWS, BODY = 3, "english"
TFIDF, WITH_PIECES = "TF-IDF + logistic regression", "the same on words and pieces of words"
NAIVE_BAYES, FASTTEXT, FASTTEXT_BODY = "naive Bayes", "fastText", "fastText with our word vectors"
COUNTING, OURS = "counting", "glassformer"
OWN: Mapping[str, Mapping[str, Any]] = {COUNTING: {"training.epochs": 0, "model.body": "none"}, OURS: {}}
"""The settings of our contestants beside the defaults."""
READERS = ("counting", "body", "transformer")
_STRENGTH = 10  # of the regression on words and pieces
_VECTORS = "body.vec"
_PAIRS = 100_000  # fastText's buckets for pairs of words, in place of 2,000,000: few rows have few pairs
Right = np.ndarray[Any, np.dtype[np.bool_]]
Numbered = tuple[Sequence[str], IntArray]
"""Texts, and the numbers of their labels."""
Line = Callable[[Experiment, str, int], dict[str, Any]]


def main() -> None:
    """Run the benchmark that the command line asks for."""
    measure("few-labels", PLAN, line, arguments(__doc__, data=False))


def measure(name: str, plan: Mapping[str, Sequence[int]], line: Line, parser: ArgumentParser) -> None:
    """Write the result of a line for each table of the plan and each number of rows of a class."""
    parser.add_argument("--only", nargs="+", metavar="TABLE", help=f"of {', '.join(plan)}")
    options = parser.parse_args()
    with running(options) as experiment:
        sizes = {table: plan[table][:1] if options.quick else plan[table] for table in options.only or plan}
        experiment.write(
            name, {"lines": [line(experiment, table, rows) for table, each in sizes.items() for rows in each]}
        )


def line(experiment: Experiment, name: str, per_class: int) -> dict[str, Any]:
    """Return the accuracy of all contestants with so many rows of each class."""
    (entry,) = entries_named([name])
    cut = cut_rows(entry, 0, test=True)
    right: dict[str, list[Right]] = {}
    weights: dict[str, list[float]] = {reader: [] for reader in READERS}
    for draw in range(1 if experiment.quick else DRAWS):
        part = Cut(train=few_rows(cut.train, per_class, draw)[0], held_out=cut.held_out)
        found = add_draw(experiment, f"few-labels/{name}-{per_class}-{draw}", part, draw, right)
        for reader in READERS:
            weights[reader].append(found.get(reader, 0.0))
    shown = {"per_class": per_class, "weights": weights, "over": over(OURS, right)}
    return described(name, part, right) | shown


def add_draw(
    experiment: Experiment, place: str, part: Cut, draw: int, right: dict[str, list[Right]]
) -> Mapping[str, float]:
    """Add which test rows each contestant answers rightly after one draw. Return the weights of our readers."""
    found: Mapping[str, float] = {}
    for opponent, answered in opponents(part, draw).items():
        right.setdefault(opponent, []).append(answered)
    for contestant, settings in OWN.items():
        answered, found = ours(experiment, f"{place}-{contestant}", part, {"training.seed": draw, **settings})
        right.setdefault(contestant, []).append(answered)
    return found


def described(name: str, last: Cut, right: Mapping[str, Sequence[Right]]) -> dict[str, Any]:
    """Describe the rows of a line, of which `last` is the last draw, and the accuracy of each contestant."""
    return {
        "table": name,
        "rows": last.train.frame.height,
        "test_rows": last.held_out.frame.height,
        "test_sha256": fingerprint(last.held_out),
        "contestants": {
            contestant: {"of_draws": [float(each.mean()) for each in of_draws], "accuracy": over_rows(of_draws)}
            for contestant, of_draws in right.items()
        },
    }


def over(one: str, right: Mapping[str, Sequence[Right]]) -> dict[str, dict[str, float]]:
    """Return how much more accurate a contestant is than each other one."""
    return {other: difference(right[one], of_draws) for other, of_draws in right.items() if other != one}


def difference(mine: Sequence[Right], theirs: Sequence[Right]) -> dict[str, float]:
    """Return the mean difference on the same draws, with an interval over the test rows."""
    return over_rows([a.astype(float) - b.astype(float) for a, b in zip(mine, theirs, strict=True)])


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


def numbered(table: Table, names: LabelSet) -> Numbered:
    """Return the texts of a table, and the numbers of their labels."""
    return table.frame["text"].to_list(), names.encode(table)


def of_tfidf(cut: Cut) -> Right:
    """Return which test rows the baseline of every evaluation answers rightly."""
    names = LabelSet.from_table(cut.train)
    (texts, labels), (test, truth) = numbered(cut.train, names), numbered(cut.held_out, names)
    tfidf = TfidfBaseline(len(names.names))
    tfidf.fit(texts, labels)
    right: Right = tfidf.answers(test).argmax(axis=1) == truth
    return right


def opponents(cut: Cut, seed: int) -> dict[str, Right]:
    """Return which test rows the other classifiers answer rightly. fastText is among them if it is installed."""
    names = LabelSet.from_table(cut.train)
    (texts, labels), (test, truth) = numbered(cut.train, names), numbered(cut.held_out, names)
    found = {TFIDF: of_tfidf(cut)}
    parts = [
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
    ]
    pieces = LogisticRegression(C=_STRENGTH, max_iter=300)
    pieces.fit(hstack([part.fit_transform(texts) for part in parts]).tocsr(), labels)
    found[WITH_PIECES] = pieces.predict(hstack([part.transform(test) for part in parts]).tocsr()) == truth
    bayes = make_pipeline(CountVectorizer(ngram_range=(1, 2), token_pattern=TOKEN), MultinomialNB())
    found[NAIVE_BAYES] = bayes.fit(texts, labels).predict(test) == truth
    if FastText.is_installed():
        body = {"dim": _body().dims, "pretrainedVectors": f"{_vectors_folder().name}/{_VECTORS}"}
        for name, settings in ((FASTTEXT, {}), (FASTTEXT_BODY, body)):
            model = FastText(len(names.names), seed=seed, bucket=_PAIRS, **settings).fit(texts, labels)
            found[name] = model.answers(test).argmax(axis=1) == truth
    return found


@cache
def _body() -> Body:
    return Body.load(body_folder(BODY))


@cache
def _vectors_folder() -> tempfile.TemporaryDirectory[str]:
    """Write our word vectors as fastText reads them."""
    body, folder = _body(), tempfile.TemporaryDirectory()
    with (Path(folder.name) / _VECTORS).open("w", encoding="utf-8") as out:
        out.write(f"{len(body.words)} {body.dims}\n")
        for word, vector in zip(body.words, body.vectors, strict=True):
            out.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")
    return folder


def ours(
    experiment: Experiment,
    name: str,
    cut: Cut,
    settings: Mapping[str, Any],
    unlabelled: Sequence[Documents] = (),
) -> tuple[Right, Mapping[str, float]]:
    """Return which test rows our model answers rightly, and the weights of its readers."""
    recipe = load_recipe(None, overrides=settings)
    folder = classifier(experiment, name, recipe, cut.train, test=cut.held_out, unlabelled=unlabelled)
    predictor = Predictor.load(folder)
    test, truth = numbered(cut.held_out, predictor.trained.config.label_set)
    right: Right = predictor.logits(test).argmax(axis=1) == truth
    return right, predictor.trained.config.weights


if __name__ == "__main__":
    main()
