"""What texts without labels add to few labels, if the word vectors of the body are continued on them.

    python -m benchmarks.unlabelled
    python -m benchmarks.unlabelled --only trec --quick

Of `imdb`, they are its 50,000 unlabelled reviews; of other tables, the training rows that were not drawn, without their
labels. The vectors of `vietnamese-feedback` are those of its own texts alone. Each draw takes other training rows, the
same for all. The official test rows are answered and decide nothing. Nothing is trained for the transformer:
`--epochs 0` in the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.bench_data import Cut, cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments
from benchmarks.few_labels import (
    BODY,
    COUNTING,
    SIZES,
    TFIDF,
    Right,
    described,
    difference,
    few_rows,
    measure,
    of_tfidf,
    ours,
)
from glassformer.data.documents import Documents, read_unlabelled
from glassformer.data.known import KNOWN
from glassformer.models.model_config import OWN_BODY

PLAN: Mapping[str, Sequence[int]] = {
    "trec": SIZES,
    "disaster-tweets": SIZES,
    "customer-reviews": SIZES,
    "sentiment140": SIZES,
    "imdb": SIZES,
    "vietnamese-feedback": SIZES,
}
OTHER_LANGUAGES = ("vietnamese-feedback",)
DRAWS = 3
BOTH, CONTINUED = "counting and the body", "the same with unlabelled texts"


def main() -> None:
    """Run the benchmark that the command line asks for."""
    measure("unlabelled", PLAN, line, arguments(__doc__, data=False))


def line(experiment: Experiment, name: str, per_class: int) -> dict[str, Any]:
    """Return the accuracy of all contestants with so many rows of each class."""
    (entry,) = entries_named([name])
    cut = cut_rows(entry, 0, test=True)
    right: dict[str, list[Right]] = {}
    weights = []
    for draw in range(1 if experiment.quick else DRAWS):
        train, rest = few_rows(cut.train, per_class, draw)
        part = Cut(train=train, held_out=cut.held_out)
        texts = Documents(texts=rest.frame["text"], source="the rest")
        if "unlabelled" in (KNOWN[name].files if name in KNOWN else ()):
            texts = read_unlabelled(name)
        right.setdefault(TFIDF, []).append(of_tfidf(part))
        contestants: dict[str, tuple[str, Sequence[Documents]]] = {COUNTING: ("none", ()), BOTH: (BODY, ())}
        if name in OTHER_LANGUAGES:
            contestants = {COUNTING: ("none", ()), CONTINUED: (OWN_BODY, [texts])}
        else:
            contestants[CONTINUED] = (BODY, [texts])
        for contestant, (body, unlabelled) in contestants.items():
            kind = f"{body}-continued" if unlabelled else body
            folder = f"unlabelled/{name}-{per_class}-{draw}-{kind}"
            settings = {"training.seed": draw, "training.epochs": 0, "model.body": body}
            answered, found = ours(experiment, folder, part, settings, unlabelled)
            right.setdefault(contestant, []).append(answered)
        weights.append(found)
    without, with_texts = list(right)[-2:]
    return described(name, part, right) | {
        "per_class": per_class,
        "unlabelled_texts": len(texts.texts),
        "weights": {reader: [each.get(reader, 0.0) for each in weights] for reader in ("counting", "body")},
        "over_without": difference(right[with_texts], right[without]),
    }


if __name__ == "__main__":
    main()
