"""An n-gram model to be measured against: interpolated modified Kneser–Ney smoothing (Chen & Goodman 1999).

The probability of a token after a context of n − 1 tokens is

    p(w | context) = (a(context w) − D(a(context w))) / Σ a(context ·)  +  left(context) · p(w | shorter context)

with the counts a adjusted as Heafield et al. (2013, §3.2) write them: the longest n-grams, and those that begin with
the start token, count how often they occur, all others how many different tokens they follow. D takes one of three
discounts of each order, `left` is what they took away, and below single tokens all tokens of the vocabulary are equally
likely. Every document stands alone, after a start token that is never predicted and before an end token that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from glassformer.data.store import IntArray, TokenStore
from glassformer.data.tokenizers import START_ID

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]

UNSEEN = -1
FALLBACK = (0.5, 1.0, 1.5)
"""Discounts where too few n-grams are there to estimate them, those of KenLM."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """The n-grams of one order. An n-gram's number is its place in `keys`, or `UNSEEN`.

    Attributes:
        keys: (ngrams,) number of the context among the n-grams of the order below · vocabulary + last token, sorted.
        worth: (ngrams + 1,) each one's discounted share of what follows its context; then 0, for `UNSEEN`.
        left: (contexts + 1,) what the discounts left to the order below; then 1, for `UNSEEN`.
    """

    keys: IntArray
    worth: FloatArray
    left: FloatArray


class KneserNey:
    """A model of `order`-grams of tokens.

    Attributes:
        levels: single tokens first.
    """

    def __init__(self, levels: tuple[Level, ...], vocab_size: int) -> None:
        self.levels, self.vocab_size = levels, vocab_size

    @classmethod
    def fit(cls, store: TokenStore, vocab_size: int, order: int = 5) -> Self:
        """Count the n-grams of all documents up to this order."""
        stream = _Stream.of(store)
        found: list[_Counted] = []
        for _ in range(order):
            found.append(_count(stream, found[-1] if found else None, vocab_size))
        levels, contexts = [], 1
        for number, counted in enumerate(found, start=1):
            counts = counted.occurrences if number == order else _adjusted(stream, counted, found[number], number)
            levels.append(_level(counted.keys, counts, contexts, vocab_size))
            contexts = len(counted.keys)
        return cls(tuple(levels), vocab_size)

    def token_probs(self, store: TokenStore) -> FloatArray:
        """(tokens + documents,) The probability of every token and of every document's end, document by document."""
        stream = _Stream.of(store)
        probs = np.full(len(stream.tokens), 1 / self.vocab_size)
        ids = np.zeros(0, dtype=np.int64)
        for level in self.levels:
            contexts = stream.before(ids)
            ids = _find(level.keys, contexts * self.vocab_size + stream.tokens)
            probs = level.worth[ids] + level.left[contexts] * probs
        return probs[stream.places > 0]

    def document_bits(self, store: TokenStore) -> FloatArray:
        """(documents,) −log₂ of the probability of each document, its end included."""
        bits = -np.log2(self.token_probs(store))
        return np.add.reduceat(bits, store.offsets[:-1] + np.arange(len(store)))


def discounts(counts: IntArray) -> tuple[float, float, float]:
    """What n-grams of count 1, of 2, and of 3 or more give away (Chen & Goodman 1999, modified
    Kneser–Ney), or `FALLBACK`."""
    n1, n2, n3, n4 = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    found = 1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3
    if any(not 0 <= one <= count for count, one in enumerate(found, start=1)):
        return FALLBACK
    return found


class _Stream(NamedTuple):
    """All documents one after another, each with a start token before it and an end token, the same one, after it."""

    tokens: IntArray
    places: IntArray
    """Of each token in its document; the start token's is 0."""

    @classmethod
    def of(cls, store: TokenStore) -> Self:
        lengths = store.lengths + 2
        begins = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)
        tokens = np.full(len(places), START_ID, dtype=np.int64)
        inner = (places > 0) & (places < np.repeat(lengths, lengths) - 1)
        tokens[inner] = store.tokens
        return cls(tokens, places)

    def before(self, ids: IntArray) -> IntArray:
        """The context's number at every place: the n-gram that ends before it. For single tokens there is one context.

        Args:
            ids: the number of the n-gram that ends at each place; empty for single tokens.
        """
        if not len(ids):
            return np.zeros(len(self.tokens), dtype=np.int64)
        return np.where(self.places > 0, np.roll(ids, 1), UNSEEN)


class _Counted(NamedTuple):
    """The n-grams of one order as they occur."""

    keys: IntArray
    occurrences: IntArray
    """Of each n-gram."""
    one_place: IntArray
    """Where each n-gram ends, once."""
    ids: IntArray
    """The number of the n-gram that ends at each place of the stream, `UNSEEN` where the document is shorter."""


def _count(stream: _Stream, below: _Counted | None, vocab_size: int) -> _Counted:
    contexts = stream.before(np.zeros(0, dtype=np.int64) if below is None else below.ids)
    keys_of_places = contexts * vocab_size + stream.tokens
    ends = np.flatnonzero((contexts != UNSEEN) & (stream.places > 0))
    keys, first, occurrences = np.unique(keys_of_places[ends], return_index=True, return_counts=True)
    ids = _find(keys, keys_of_places)
    return _Counted(keys, occurrences, ends[first], ids)


def _adjusted(stream: _Stream, counted: _Counted, above: _Counted, order: int) -> IntArray:
    """How many different tokens stand before each n-gram; for those that begin a document, how often they occur."""
    size = len(counted.keys)
    continued = np.bincount(counted.ids[above.one_place], minlength=size)
    if order == 1:  # the start token is not predicted
        return continued
    return continued + np.bincount(counted.ids[stream.places == order - 1], minlength=size)


def _level(keys: IntArray, adjusted: IntArray, contexts: int, vocab_size: int) -> Level:
    taken = np.array([0.0, *discounts(adjusted)])[np.minimum(adjusted, 3)]
    context = keys // vocab_size
    total = np.bincount(context, weights=adjusted, minlength=contexts)
    followed = total > 0  # nothing follows the end of a document
    left = np.ones(contexts + 1)
    left[:-1][followed] = np.bincount(context, weights=taken, minlength=contexts)[followed] / total[followed]
    return Level(keys=keys, worth=np.append((adjusted - taken) / total[context], 0.0), left=left)


def _find(keys: IntArray, wanted: IntArray) -> IntArray:
    """The place of each wanted key, or `UNSEEN`."""
    if not len(keys):  # every document is shorter
        return np.full(len(wanted), UNSEEN, dtype=np.int64)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, UNSEEN)
