"""The table of docs/how-it-works/sentiment-en.md, from benchmarks/results/sentiment-en.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown

_SETS = {
    "imdb": "`imdb`: film reviews, test rows",
    "sentiment140": "`sentiment140`: tweets, test rows, labelled by hand",
    "customer-reviews": "`customer-reviews`: sentences about products, a domain that it never saw",
}


def sentiment_tables(found: Document) -> Iterator[str]:
    """Return the accuracy on each data set, and the size."""
    heads = (
        "texts",
        "rows",
        "sentiment-en",
        "TF-IDF + logistic regression, same training rows",
        "the same without the sentences",
        "unlike the training data",
    )
    rows = [
        (
            name,
            f"{found['tests'][key]['rows']:,}",
            _accuracy(found["tests"][key]["accuracy"]),
            _accuracy(found["tests"][key]["tfidf_sentences"]),
            _accuracy(found["tests"][key]["tfidf"]),
            f"{found['tests'][key]['unlike_training']:.1%}",
        )
        for key, name in _SETS.items()
    ]
    yield markdown([heads, *rows])
    size = sum(found["bytes"].values()) / 1e6
    learned = f"{found['training_rows']:,} reviews and tweets, and {found['sentences']:,} sentences of the reviews"
    yield f"Accuracy with its 95% interval. Training rows: {learned}. {size:.1f} MB in all."


def _accuracy(found: dict[str, Any]) -> str:
    return f"{found['value']:.3f} ({found['low']:.3f}–{found['high']:.3f})"
