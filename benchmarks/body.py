"""What the English body adds to counting, with few labels and with many.

    python -m benchmarks.body
    python -m benchmarks.body --only trec --quick

Each draw takes other training rows, the same for all. The official test rows are answered and decide nothing. Nothing
is trained for the transformer: `--epochs 0` in the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks.bench_data import Cut, cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.few_labels import TFIDF, Right, few_rows, opponents
from benchmarks.models import classifier
from benchmarks.paired import over_rows
from glassformer.data.documents import Documents
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

ALL = 0
PLAN: Mapping[str, Sequence[int]] = {
    "trec": (8, 32, 128, ALL),
    "disaster-tweets": (8, 32, 128, ALL),
    "customer-reviews": (8, 32, 128, ALL),
    "sentiment140": (8, 32, 128, ALL),
    "imdb": (8, 32, 128),
    "clinc150": (8, 32),
}
DRAWS, BODY = 3, "english"
WITH_PIECES = "the same on words and pieces of words"
COUNTING, BOTH = "counting", "counting and the body"
_STRENGTH = 10  # of the regression on words and pieces
Line = Callable[[Experiment, str, int], dict[str, Any]]


def main() -> None:
    """Run the benchmark that the command line asks for."""
    measure("body", PLAN, line, __doc__, {"body": BODY})


def measure(
    name: str,
    plan: Mapping[str, Sequence[int]],
    line: Line,
    description: str | None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write the result of a line for each table of the plan and each number of rows of a class."""
    parser = arguments(description, data=False)
    parser.add_argument("--only", nargs="+", metavar="TABLE", help=f"of {', '.join(plan)}")
    options = parser.parse_args()
    with running(options) as experiment:
        sizes = {table: plan[table][:1] if options.quick else plan[table] for table in options.only or plan}
        lines = [line(experiment, table, rows) for table, each in sizes.items() for rows in each]
        experiment.write(name, {**(more or {}), "lines": lines})


def line(experiment: Experiment, name: str, per_class: int) -> dict[str, Any]:
    """Return the accuracy of all contestants with so many rows of each class."""
    (entry,) = entries_named([name])
    cut = cut_rows(entry, 0, test=True)
    right: dict[str, list[Right]] = {TFIDF: [], WITH_PIECES: [], COUNTING: [], BOTH: []}
    weights = []
    for draw in range(DRAWS if per_class and not experiment.quick else 1):
        train = few_rows(cut.train, per_class, draw)[0] if per_class else cut.train
        part = Cut(train=train, held_out=cut.held_out)
        right[TFIDF].append(opponents(part)[TFIDF])
        right[WITH_PIECES].append(of_pieces(part))
        for contestant, body in ((COUNTING, "none"), (BOTH, BODY)):
            answered, found = ours(experiment, f"body/{name}-{per_class}-{draw}-{body}", part, body, draw)
            right[contestant].append(answered)
        weights.append(found)
    return {
        "table": name,
        "per_class": per_class or None,
        "rows": train.frame.height,
        "test_rows": cut.held_out.frame.height,
        "test_sha256": fingerprint(cut.held_out),
        "weights": {reader: [each[reader] for each in weights] for reader in ("counting", "body")},
        "contestants": {
            contestant: {
                "of_draws": [float(each.mean()) for each in of_draws],
                "accuracy": over_rows(of_draws),
                "over_counting": None if contestant == COUNTING else difference(of_draws, right[COUNTING]),
            }
            for contestant, of_draws in right.items()
        },
    }


def difference(mine: Sequence[Right], theirs: Sequence[Right]) -> dict[str, float]:
    """Return the mean difference on the same draws, with an interval over the test rows."""
    return over_rows([a.astype(float) - b.astype(float) for a, b in zip(mine, theirs, strict=True)])


def of_pieces(cut: Cut) -> Right:
    """Return which test rows a regression on words, pairs of words and pieces of 2 to 5 characters answers rightly."""
    names = LabelSet.from_table(cut.train)
    texts, test = cut.train.frame["text"].to_list(), cut.held_out.frame["text"].to_list()
    parts = [
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
    ]
    model = LogisticRegression(C=_STRENGTH, max_iter=300)
    model.fit(hstack([part.fit_transform(texts) for part in parts]).tocsr(), names.encode(cut.train))
    answers = model.predict(hstack([part.transform(test) for part in parts]).tocsr())
    right: Right = answers == names.encode(cut.held_out)
    return right


def ours(
    experiment: Experiment, name: str, cut: Cut, body: str, seed: int, unlabelled: Sequence[Documents] = ()
) -> tuple[Right, dict[str, float]]:
    """Return which test rows our model answers rightly, and the weights of its readers."""
    recipe = load_recipe(None, overrides={"training.seed": seed, "training.epochs": 0, "model.body": body})
    folder = classifier(experiment, name, recipe, cut.train, test=cut.held_out, unlabelled=unlabelled)
    predictor = Predictor.load(folder)
    config = predictor.trained.config
    logits = predictor.logits(cut.held_out.frame["text"].to_list())
    right: Right = logits.argmax(axis=1) == config.label_set.encode(cut.held_out)
    return right, {reader: config.weights.get(reader, 0.0) for reader in ("counting", "body")}


if __name__ == "__main__":
    main()
