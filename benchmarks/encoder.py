"""What a pre-trained encoder adds to few labels, in place of the word vectors.

    python -m benchmarks.encoder --encoder encoders/all-MiniLM-L6-v2
    python -m benchmarks.encoder --encoder encoders/all-MiniLM-L6-v2 --only trec --quick

The folder holds an encoder of sentence-transformers. Each draw takes other training rows, the same for all. The
official test rows are answered and decide nothing. Nothing is trained for the transformer: `--epochs 0` in the command
line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression

from benchmarks.bench_data import Cut, cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments
from benchmarks.few_labels import BODY, TFIDF, Right, described, few_rows, measure, numbered, of_tfidf, ours, over
from glassformer.data.labels import LabelSet
from glassformer.models.model_config import HUB
from glassformer.readers.encoder.training import read_encoder

PLAN: Mapping[str, Sequence[int]] = dict.fromkeys(
    ("trec", "disaster-tweets", "customer-reviews", "sentiment140"), (8, 32, 128)
)
TUNED_TABLES, TUNED_ROWS, PAIRS = ("disaster-tweets", "customer-reviews", "sentiment140"), 8, 20
DRAWS = 3
ALONE = "logistic regression on the encoder's vectors"
WITH_BODY, WITH_ENCODER, TUNED = "counting and the body", "counting and the encoder", "counting and the tuned encoder"


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--encoder", required=True, type=Path, metavar="FOLDER", help="an encoder")
    encoder = parser.parse_known_args()[0].encoder
    measure("encoder", PLAN, partial(line, encoder), parser)


def line(encoder: Path, experiment: Experiment, name: str, per_class: int) -> dict[str, Any]:
    """Return the accuracy of all contestants with so many rows of each class."""
    (entry,) = entries_named([name])
    cut = cut_rows(entry, 0, test=True)
    hub = f"{HUB}{encoder}"
    contestants: dict[str, dict[str, Any]] = {WITH_BODY: {"model.body": BODY}, WITH_ENCODER: {"model.body": hub}}
    if name in TUNED_TABLES and per_class == TUNED_ROWS:
        contestants[TUNED] = {"model.body": hub, "training.tune_body": PAIRS}
    right: dict[str, list[Right]] = {}
    weights: dict[str, list[Mapping[str, float]]] = {each: [] for each in contestants}
    for draw in range(1 if experiment.quick else DRAWS):
        part = Cut(train=few_rows(cut.train, per_class, draw)[0], held_out=cut.held_out)
        right.setdefault(TFIDF, []).append(of_tfidf(part))
        right.setdefault(ALONE, []).append(of_vectors(hub, part))
        for number, (contestant, settings) in enumerate(contestants.items()):
            folder = f"encoder/{name}-{per_class}-{draw}-{number}"
            settings = {"training.seed": draw, "training.epochs": 0, **settings}
            answered, found = ours(experiment, folder, part, settings)
            right.setdefault(contestant, []).append(answered)
            weights[contestant].append(found)
    return described(name, part, right) | {
        "per_class": per_class,
        "encoder": encoder.name,
        "weights": weights,
        "over": over(WITH_ENCODER, right),
    }


def of_vectors(hub: str, cut: Cut) -> Right:
    """Return which test rows a logistic regression on the vectors answers rightly: sentence-transformers' usual use."""
    names = LabelSet.from_table(cut.train)
    (texts, labels), (test, truth) = numbered(cut.train, names), numbered(cut.held_out, names)
    encoder = _encoder(hub)
    known = LogisticRegression(max_iter=1000).fit(encoder.vectors(texts), labels)
    right: Right = known.predict(_vectors_of_test(hub, tuple(test))) == truth
    return right


@cache
def _encoder(hub: str) -> Any:
    return read_encoder(hub)


@cache
def _vectors_of_test(hub: str, texts: tuple[str, ...]) -> Any:
    return _encoder(hub).vectors(texts)


if __name__ == "__main__":
    main()
