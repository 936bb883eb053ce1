"""Which rows have the same text, and which have nearly the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from glassformer.data.arrays import Array
from glassformer.data.inputs import without_columns
from glassformer.labels.near import OnProgress, Pairs, near_pairs, silent
from glassformer.readers.counting.ngrams import words_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Repeats:
    """Rows by their texts. Texts are the same if their words are, without regard to case (see `words_of`).

    Of rows with several inputs, all texts must be the same, or nearly. `by_value` also tells the columns apart.

    Attributes:
        text_of_row: (rows,) the number of the text of each row. Texts are numbered in the order of the rows.
        pairs: pairs of texts that are nearly the same.
    """

    text_of_row: Array
    pairs: Pairs

    @classmethod
    def of(cls, texts: Sequence[str], *, on_progress: OnProgress = silent) -> Repeats:
        numbers: dict[str, int] = {}
        text_of_row = [numbers.setdefault(" ".join(words_of(without_columns(text))), len(numbers)) for text in texts]
        pairs = near_pairs(list(numbers), on_progress=on_progress)
        return cls(text_of_row=np.array(text_of_row, np.int64), pairs=pairs)

    def by_value(self, values: Sequence[Sequence[str]]) -> Repeats:
        """Return the rows by their texts and columns. Only texts with the same columns may be nearly the same.

        Args:
            values: the values of the columns of each row.
        """
        numbers: dict[tuple[int, tuple[str, ...]], int] = {}
        keys = zip(self.text_of_row.tolist(), map(tuple, values), strict=True)
        text_of_row = [numbers.setdefault(key, len(numbers)) for key in keys]
        of_text = defaultdict[int, dict[tuple[str, ...], int]](dict)
        for (text, value), number in numbers.items():
            of_text[text][value] = number
        pairs = [
            (*sorted((number, of_text[second][value])), similarity)
            for first, second, similarity in zip(*map(np.ndarray.tolist, astuple(self.pairs)), strict=True)
            for value, number in of_text[first].items()
            if value in of_text[second]
        ]
        first, second, similarity = np.array(pairs).reshape(-1, 3).T
        return Repeats(
            text_of_row=np.array(text_of_row, np.int64),
            pairs=Pairs(first=first.astype(np.int64), second=second.astype(np.int64), similarity=similarity),
        )

    def groups(self, n_folds: int, given: Array | None = None) -> Array:
        """Return a number for each row: rows with the same or nearly the same text have the same number.

        If one group would then be larger than a fold, as in a table of sentences of one pattern, only rows with the
        same text are kept together.

        Args:
            given: (rows,) further groups that must not be split.
        """
        near = _joined(self.text_of_row, (self.pairs.first, self.pairs.second))
        largest = np.bincount(near).max()
        of_texts = near if largest * n_folds <= len(near) else self.text_of_row
        return of_texts if given is None else _together(of_texts, given)

    def nearest(self, keep: Array) -> tuple[Array, Array, Array]:
        """Return for each text with a pair its nearest text: numbers, numbers of the nearest, similarities.

        Args:
            keep: (2 · pairs,) which pairs count, in the order `both_ways`.
        """
        text, other, similarity = (values[keep] for values in self.both_ways())
        order = np.lexsort((other, -similarity, text))
        _, places = np.unique(text[order], return_index=True)
        chosen = order[places]
        return text[chosen], other[chosen], similarity[chosen]

    def both_ways(self) -> tuple[Array, Array, Array]:
        """Return each pair twice, the second time with its texts swapped: numbers, other numbers, similarities."""
        first, second, similarity = self.pairs.first, self.pairs.second, self.pairs.similarity
        return np.concatenate([first, second]), np.concatenate([second, first]), np.tile(similarity, 2)


def _joined(numbers: Array, pairs: tuple[Array, Array]) -> Array:
    """Return the numbers of rows after joining some of them in pairs."""
    n = int(numbers.max()) + 1
    graph = sparse.coo_array((np.ones(len(pairs[0])), pairs), shape=(n, n))
    return connected_components(graph, directed=False)[1][numbers]


def _together(one: Array, other: Array) -> Array:
    """Return groups of rows that split neither those of `one` nor those of `other`."""
    n = int(one.max()) + 1
    _, numbers = np.unique(other, return_inverse=True)
    graph_size = n + int(numbers.max()) + 1
    graph = sparse.coo_array((np.ones(len(one)), (one, n + numbers)), shape=(graph_size, graph_size))
    return connected_components(graph, directed=False)[1][one]
