"""An n-gram model to compare with: interpolated modified Kneser–Ney smoothing (Chen & Goodman 1999).

The probability of a token w after a context is

    p(w | context) = (a(context w) − D(a(context w))) / Σ a(context ·)  +  left(context) · p(w | shorter context)

The counts a are adjusted as in Heafield et al. (2013, §3.2). The longest n-grams, and those that begin with the start
token, count how often they occur. All others count how many different tokens they follow. D takes one of three
discounts, and `left` is the share that the discounts took away. Below single tokens, all tokens of the vocabulary are
equally likely. Documents are independent. A start token, which is never predicted, stands before each of them, and an
end token, which is, after it.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import polars as pl

from glassformer.data.arrays import DoubleArray, IntArray
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import START_ID

FALLBACK = (0.5, 1.0, 1.5)
"""The discounts if there are too few n-grams to estimate them, as in KenLM."""
_NO_TOKEN = -1


class Level(NamedTuple):
    """The n-grams of one order, with the first summand of their probability, and their contexts, with `left`."""

    grams: pl.DataFrame
    contexts: pl.DataFrame


class KneserNey:
    """A model of n-grams. Its levels begin with single tokens."""

    def __init__(self, levels: list[Level], vocab_size: int) -> None:
        self.levels, self.vocab_size = levels, vocab_size

    @classmethod
    def fit(cls, store: TokenStore, vocab_size: int, order: int = 5) -> Self:
        """Count the n-grams of all documents up to this order."""
        stream = _stream(store, order)
        return cls([_level(stream, size, longest=size == order) for size in range(1, order + 1)], vocab_size)

    def token_probs(self, store: TokenStore) -> DoubleArray:
        """Return the probability of every token and of every document's end (tokens + documents,), in their order."""
        stream = _stream(store, len(self.levels))
        probs = np.full(stream.height, 1 / self.vocab_size)
        for size, (grams, contexts) in enumerate(self.levels, start=1):
            context = _context(size)
            found = stream.join(grams, on=[*context, "0"], how="left", maintain_order="left")
            found = found.join(contexts, on=context, how="left", maintain_order="left")
            probs = found["worth"].fill_null(0).to_numpy() + found["left"].fill_null(1).to_numpy() * probs
        return probs

    def document_bits(self, store: TokenStore) -> DoubleArray:
        """Return −log₂ of the probability of each document with its end (documents,)."""
        bits = -np.log2(self.token_probs(store))
        return np.add.reduceat(bits, store.offsets[:-1] + np.arange(len(store)))


def discounts(counts: IntArray) -> tuple[float, float, float]:
    """Return the discounts of n-grams with count 1, 2, and 3 or more (Chen & Goodman 1999), or `FALLBACK`."""
    n1, n2, n3, n4 = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    found = 1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3
    fits = all(0 <= discount <= count for count, discount in enumerate(found, start=1))
    return found if fits else FALLBACK


def _stream(store: TokenStore, order: int) -> pl.DataFrame:
    """Return one row for each token and each document's end.

    Column "0" is the token, "1" the one before it, and so on; `_NO_TOKEN` stands before the start token.
    """
    lengths = store.lengths + 2
    begins = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)
    tokens = np.full(len(places), START_ID, dtype=np.int64)
    tokens[(places > 0) & (places < np.repeat(lengths, lengths) - 1)] = store.tokens
    before = {str(back): np.where(places >= back, np.roll(tokens, back), _NO_TOKEN) for back in range(order + 1)}
    return pl.DataFrame({"every": np.zeros_like(places), **before}).filter(pl.Series(places > 0))


def _context(size: int) -> list[str]:
    """Return the columns of the context of an n-gram. All single tokens have the same context."""
    return ["every", *(str(back) for back in range(1, size))]


def _level(stream: pl.DataFrame, size: int, *, longest: bool) -> Level:
    context, earlier = _context(size), pl.col(str(size))
    begins = earlier == _NO_TOKEN
    adjusted = pl.len() if longest else earlier.filter(~begins).n_unique() + begins.sum()
    whole = stream.filter(pl.col(str(size - 1)) != _NO_TOKEN)
    grams = whole.group_by([*context, "0"]).agg(adjusted.cast(pl.Int64).alias("count"))
    counts = grams["count"].to_numpy()
    taken = np.array([0.0, *discounts(counts)])[np.minimum(counts, 3)]
    grams = grams.with_columns(taken=taken, total=pl.col("count").sum().over(context))
    worth = (pl.col("count") - pl.col("taken")) / pl.col("total")
    left = pl.col("taken").sum() / pl.col("count").sum()
    return Level(grams.select(*context, "0", worth=worth), grams.group_by(context).agg(left=left))
