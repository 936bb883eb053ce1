"""Which unlabelled texts to label next: those that the model can hardly decide, and that are unlike each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.labels.doubts import FOLDS, folds_apart
from glassformer.labels.repeats import Repeats
from glassformer.labels.truth import Truth
from glassformer.readers.counting.matrices import tfidf_vectors
from glassformer.readers.counting.ngrams import words_of

_POOL = 2
"""So many times as many texts as are wanted are compared with each other: those that the model decides least surely."""


@dataclass(frozen=True, kw_only=True)
class ToLabel:
    """Texts to label next.

    Attributes:
        rows: the columns row, text, suggested_label and that of the measure (`Truth.measure_of_new`), in the order in
            which the texts were chosen.
        new: of how many texts they were chosen.
    """

    rows: pl.DataFrame
    new: int


def to_label(truth: Truth, unlabelled: Table, number: int) -> ToLabel:
    """Choose texts to label. A counting reader that learned from the table answers all of them.

    Of the texts of whose answers it is least sure (`Truth.unsure`), the first is chosen, and then always the one whose
    nearest chosen text is farthest (Gonzalez 1985, "Clustering to minimize the maximum intercluster distance").
    Otherwise many texts of one kind would be chosen.

    Args:
        unlabelled: texts that are already in the table, and all but the first of those that are the same, are left out.
        number: how many texts to choose, at most. Fewer are chosen if there are fewer.

    Raises:
        UsageError: the table has labels that cannot be learned, or all its rows have the same text, or no text is new.
    """
    source, strata, texts = truth.table.source, truth.strata, truth.table.frame["text"].to_list()
    known = {" ".join(words_of(text)) for text in texts}
    keys = [" ".join(words_of(text)) for text in unlabelled.frame["text"]]
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    new = np.array(sorted(place for key, place in first.items() if key not in known), np.int64)
    if not len(new):
        raise UsageError(f"{unlabelled.source}: all texts are already in {source}")
    groups = Repeats.of(texts).groups(FOLDS)
    if len(np.unique(groups)) == 1:
        raise UsageError(f"{source}: all rows have nearly the same text, so nothing can be learned from it")
    candidates = unlabelled.frame[new]
    given = candidates["text"].to_list()
    unsure = truth.unsure(texts, folds_apart(strata, groups), given)
    pool = unsure.order[: _POOL * number]
    chosen = pool[unlike_each_other(tfidf_vectors(unsure.reader, [given[place] for place in pool]), number)]
    rows = candidates[chosen].select(
        "row",
        "text",
        pl.Series("suggested_label", [unsure.suggested.cells[place] for place in chosen], pl.String),
        pl.Series(truth.measure_of_new, unsure.suggested.measures[chosen]),
    )
    return ToLabel(rows=rows, new=len(new))


def unlike_each_other(vectors: sparse.csr_matrix, number: int) -> list[int]:
    """Return the places of at most so many texts that are unlike each other. The first one is the first of all.

    Args:
        vectors: (texts, terms), of length 1.
    """
    nearest = np.full(vectors.shape[0], -1.0)  # the cosine of each text with the chosen text that is nearest to it
    chosen: list[int] = []
    while len(chosen) < min(number, len(nearest)):
        place = int(nearest.argmin())
        chosen.append(place)
        nearest = np.maximum(nearest, (vectors @ vectors[place].T).toarray()[:, 0])
        nearest[chosen] = np.inf
    return chosen
