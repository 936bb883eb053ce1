"""Find texts that are the same or nearly the same.

MinHash (Broder 1997) with banding (Leskovec et al., Mining of Massive Datasets, §3.4) finds candidates without
comparing all pairs. The Jaccard similarity of their sets of 5 characters in a row is then computed exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from glassformer.data.arrays import Array
from glassformer.data.inputs import without_columns
from glassformer.readers.counting.ngrams import words_of

NEAR = 0.7
"""The least similarity of texts that are nearly the same."""
_RUN = 5  # characters
_BANDS, _HASHES = 24, 4  # of each band: a pair of similarity .7 is found with probability .9986, one of .8 with .99999
_CHARACTERS_AT_ONCE = 100_000
_MOST_TO_PAIR, _NEXT_OF_MANY = 50, 10
"""All texts of a band that agree are paired, up to so many; of more, each is paired with the next few."""
_ESTIMATE_OFF_BY = 0.15  # the estimate of MinHash by 96 hashes has a standard deviation of .05 at most
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio (Fibonacci hashing: Knuth, vol. 3, §6.4)

OnProgress = Callable[[float], None]


def silent(*_: object) -> None:
    """Do nothing with a report of progress."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairs:
    """Pairs of texts that are nearly the same, by their numbers: `first` < `second`. All arrays are (pairs,)."""

    first: Array
    second: Array
    similarity: Array

    def some(self, keep: Array) -> Pairs:
        return Pairs(first=self.first[keep], second=self.second[keep], similarity=self.similarity[keep])


def near_pairs(texts: Sequence[str], *, on_progress: OnProgress = silent) -> Pairs:
    """Return the pairs of texts whose similarity is at least `NEAR`.

    If very many texts are alike, some of their pairs are left out, but each text keeps one.

    Args:
        texts: different texts.
        on_progress: is called with the share of the work that is done.
    """
    signatures = _signatures(texts, on_progress)
    first, second = _candidates(signatures)
    parts = zip(*(np.array_split(each, 1 + len(each) // 100_000) for each in (first, second)), strict=True)
    agree = np.concatenate([(signatures[left] == signatures[right]).mean(axis=1) for left, right in parts])
    likely = agree >= NEAR - _ESTIMATE_OFF_BY
    first, second = first[likely], second[likely]
    runs = lru_cache(maxsize=10_000)(lambda number: np.unique(_hashed(_characters(texts[number].ljust(_RUN)))))

    def jaccard(one: Array, other: Array) -> float:
        both = len(np.intersect1d(one, other, assume_unique=True))
        return both / (len(one) + len(other) - both)

    similarity = np.array([jaccard(runs(left), runs(right)) for left, right in zip(first, second, strict=True)])
    return Pairs(first=first, second=second, similarity=similarity).some(similarity >= NEAR)


def _characters(text: str) -> Array:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)


def _hashed(characters: Array) -> Array:
    runs = len(characters) - _RUN + 1
    total = np.zeros(runs, np.uint64)
    for place in range(_RUN):
        total = (total + characters[place : place + runs]) * _MULTIPLIER
        total ^= total >> np.uint64(29)
    return total


def _signatures(texts: Sequence[str], on_progress: OnProgress) -> Array:
    """Return the MinHash signatures: the lowest value of each hash over the runs of each text, (texts, hashes)."""
    draw = np.random.default_rng(0)
    factors = draw.integers(0, 2**63, _BANDS * _HASHES).astype(np.uint64) * np.uint64(2) + np.uint64(1)
    signatures = np.empty((len(texts), len(factors)), np.uint32)
    padded = [text.ljust(_RUN) for text in texts]
    ends = np.cumsum([len(text) for text in padded], dtype=np.int64)
    cuts = [0, *(1 + np.flatnonzero(np.diff(ends // _CHARACTERS_AT_ONCE))).tolist(), len(padded)]
    for begun, end in pairwise(cuts if padded else []):
        batch = padded[begun:end]
        lengths = np.array([len(text) for text in batch])
        starts = np.cumsum(lengths) - lengths
        runs = _hashed(_characters("".join(batch)))
        inside = np.ones(len(runs), bool)
        across = (starts[1:, None] - np.arange(1, _RUN)).ravel()
        inside[across] = False  # a run that begins in one text and ends in the next
        runs = runs[inside]
        begins = np.cumsum(lengths - _RUN + 1) - (lengths - _RUN + 1)
        for number, factor in enumerate(factors):
            values = ((runs * factor) >> np.uint64(32)).astype(np.uint32)
            signatures[begun:end, number] = np.minimum.reduceat(values, begins)
        on_progress(end / len(texts))
    return signatures


def _candidates(signatures: Array) -> tuple[Array, Array]:
    """Return the pairs of texts that agree in all hashes of a band."""
    n_texts = len(signatures)
    codes = []
    for band in np.split(signatures, _BANDS, axis=1):
        key = np.zeros(n_texts, np.uint64)
        for column in band.T:
            key = (key ^ column) * _MULTIPLIER
            key ^= key >> np.uint64(31)
        order = np.argsort(key, kind="stable")
        cuts = np.flatnonzero(np.diff(key[order])) + 1
        bounds = np.concatenate([[0], cuts, [n_texts]])
        sizes = np.diff(bounds)
        end = np.repeat(bounds[1:], sizes)  # of the texts that agree with each one
        reach = np.repeat(np.where(sizes <= _MOST_TO_PAIR, sizes, _NEXT_OF_MANY + 1), sizes)
        for step in range(1, min(_MOST_TO_PAIR, n_texts)):
            places = np.flatnonzero((np.arange(n_texts) + step < end) & (step < reach))
            if not len(places):
                break
            codes.append(order[places] * np.int64(n_texts) + order[places + step])
    found = np.unique(np.concatenate(codes)) if codes else np.zeros(0, np.int64)
    first, second = np.divmod(found, max(1, n_texts))
    return first, second


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
        if given is None:
            return of_texts
        beyond = int(of_texts.max()) + 1
        return _joined(of_texts, (of_texts, beyond + np.unique(given, return_inverse=True)[1]))

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
    from scipy import sparse  # a table may be refused before it is looked through
    from scipy.sparse.csgraph import connected_components

    n = 1 + max(int(each.max(initial=0)) for each in (numbers, *pairs))
    graph = sparse.coo_array((np.ones(len(pairs[0])), pairs), shape=(n, n))
    return connected_components(graph, directed=False)[1][numbers]
