"""Which unlabelled texts to label next: those that the model can hardly decide, and that are unlike each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from glassformer.data.arrays import Array
from glassformer.data.labels import LabelSet
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.labels.doubts import FOLDS, folds_apart
from glassformer.labels.repeats import Repeats
from glassformer.readers.counting.fitting import fit_counting
from glassformer.readers.counting.matrices import tfidf_vectors
from glassformer.readers.counting.ngrams import words_of
from glassformer.readers.counting.reader import CountingReader

_POOL = 2
"""So many times as many texts as are wanted are compared with each other: those that the model decides least surely."""


@dataclass(frozen=True, kw_only=True)
class ToLabel:
    """Texts to label next.

    Attributes:
        rows: the columns row, text, suggested_label and probability, in the order in which the texts were chosen.
        new: of how many texts they were chosen.
    """

    rows: pl.DataFrame
    new: int


def to_label(table: Table, unlabelled: Table, number: int) -> ToLabel:
    """Choose texts to label. A counting reader that learned from the table answers all of them.

    A text's margin is the difference of its two highest probabilities (Scheffer et al. 2001, "Active hidden Markov
    models for information extraction"). Of the texts with the smallest margins, the first is chosen, and then always
    the one whose nearest chosen text is farthest (Gonzalez 1985, "Clustering to minimize the maximum intercluster
    distance"). Otherwise many texts of one kind would be chosen.

    Args:
        table: with one label per text.
        unlabelled: texts that are already in `table`, and all but the first of those that are the same, are left out.
        number: how many texts to choose, at most. Fewer are chosen if there are fewer.

    Raises:
        UsageError: `table` has labels that cannot be learned, or all its rows have the same text, or no text is new.
    """
    names = LabelSet.from_table(table)
    labels, texts = names.encode(table), table.frame["text"].to_list()
    known = {" ".join(words_of(text)) for text in texts}
    keys = [" ".join(words_of(text)) for text in unlabelled.frame["text"]]
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    new = np.array(sorted(place for key, place in first.items() if key not in known), np.int64)
    if not len(new):
        raise UsageError(f"{unlabelled.source}: all texts are already in {table.source}")
    groups = Repeats.of(texts).groups(FOLDS)
    if len(np.unique(groups)) == 1:
        raise UsageError(f"{table.source}: all rows have nearly the same text, so nothing can be learned from it")
    folds = folds_apart(labels, groups)
    reader = fit_counting("tfidf", texts, labels, n_classes=len(names.names), folds=folds).reader
    candidates = unlabelled.frame[new]
    probabilities = _probabilities(reader.scores(candidates["text"].to_list()))
    chosen = _chosen(reader, candidates["text"].to_list(), probabilities, number)
    best = probabilities[chosen].argmax(axis=1)
    rows = candidates[chosen].select(
        "row",
        "text",
        suggested_label=pl.Series([names.names[label] for label in best], dtype=pl.String),
        probability=pl.Series(np.round(probabilities[chosen, best], 4)),
    )
    return ToLabel(rows=rows, new=len(new))


def _probabilities(logits: Array) -> Array:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Array = odds / odds.sum(axis=1, keepdims=True)
    return probabilities


def _chosen(reader: CountingReader, texts: Sequence[str], probabilities: Array, number: int) -> Array:
    """Return the places of the chosen texts."""
    highest = np.sort(probabilities, axis=1)
    unsure = np.argsort(highest[:, -1] - highest[:, -2], kind="stable")[: _POOL * number]
    vectors = tfidf_vectors(reader, [texts[place] for place in unsure])
    nearest = np.full(len(unsure), -1.0)  # the cosine of each text with the chosen text that is nearest to it
    chosen: list[int] = []
    while len(chosen) < min(number, len(unsure)):
        place = int(nearest.argmin())
        chosen.append(place)
        nearest = np.maximum(nearest, (vectors @ vectors[place].T).toarray()[:, 0])
        nearest[chosen] = np.inf
    return unsure[chosen]
