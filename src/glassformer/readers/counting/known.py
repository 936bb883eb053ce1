"""Where known n-grams occur in texts, which are given as their words, many at a time.

This finds what `ngrams.py` lists, without a string for each n-gram of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from glassformer.data.arrays import Array, IntArray
from glassformer.data.inputs import BEGIN
from glassformer.readers.counting.ngrams import END, LONGEST_RUN, START, Family, marked, pieces_of

_MOST_WORDS = 30_000  # whose pieces are remembered: 60 MB if all have 100 characters

Texts = Sequence[Sequence[str]]
"""The words of each text."""


class Found(NamedTuple):
    """The occurrences of n-grams: the number of the n-gram, and the first and the last word that it covers.

    The words of all texts have numbers, one text after another. The start and the end of a text are not words.
    """

    ngrams: Array
    first: IntArray
    last: IntArray


def finder(family: Family, ngrams: Sequence[str]) -> Callable[[Texts], Found]:
    """Return a function that finds these n-grams of a family."""
    return _finder_of_runs(ngrams) if family == "words" else _finder_of_pieces(ngrams)


def _finder_of_runs(ngrams: Sequence[str]) -> Callable[[Texts], Found]:
    """Look up the code of each run: the numbers of its words, as the digits of one number.

    (Of more than two million words, codes are cut to 64 bits. Two of them hardly ever meet.)
    """
    flat, ends = list[str](), [0]
    for ngram in ngrams:
        flat += [ngram] if ngram.startswith(BEGIN) else ngram.split(" ")
        ends.append(len(flat))
    digits = {word: number for number, word in enumerate(dict.fromkeys([START, END, *flat]), 1)}
    base, unknown = len(digits) + 2, len(digits) + 1

    def digits_of(words: Sequence[str]) -> IntArray:
        return np.fromiter(map(digits.get, words, repeat(unknown)), np.int64, len(words))

    begins, lengths = np.array(ends[:-1], np.int64), np.diff(ends)
    words, codes = digits_of(flat), np.zeros(len(ngrams), np.int64)
    for place in range(lengths.max(initial=0)):
        longer = lengths > place
        codes[longer] = codes[longer] * base + words[begins[longer] + place]
    numbers = np.argsort(codes)
    codes = np.append(codes[numbers], np.iinfo(np.int64).max)

    def find(texts: Texts) -> Found:
        words = digits_of(list(chain.from_iterable(map(marked, texts))))
        covered = np.cumsum(words > digits[END]) - (words != digits[START])  # by a mark: the word beside it
        runs = [words]
        for before in range(1, LONGEST_RUN):  # no run goes from the end of a text to the start of the next
            runs.append(runs[-1][:-1] * base + words[before:])
        wanted = np.concatenate(runs)
        places = np.searchsorted(codes, wanted)
        known = codes[places] == wanted
        first = np.concatenate([covered[: len(run)] for run in runs])[known]
        last = np.concatenate([covered[len(words) - len(run) :] for run in runs])[known]
        return Found(numbers[places[known]], first, last)

    return find


def _finder_of_pieces(ngrams: Sequence[str]) -> Callable[[Texts], Found]:
    index = {ngram: number for number, ngram in enumerate(ngrams)}

    @lru_cache(_MOST_WORDS)  # many words occur in many texts
    def known_in(word: str) -> Array:
        return np.array([index[piece] for piece in pieces_of(word) if piece in index], np.int32)

    def find(texts: Texts) -> Found:
        words = list(chain.from_iterable(texts))
        distinct = {word: number for number, word in enumerate(dict.fromkeys(words))}
        pieces = [np.zeros(0, np.int32), *map(known_in, distinct)]
        ends = np.cumsum(list(map(len, pieces)))
        numbers = np.fromiter(map(distinct.__getitem__, words), np.int64, len(words))
        begins, lengths = ends[numbers], ends[numbers + 1] - ends[numbers]
        covered = np.repeat(np.arange(len(words)), lengths)
        places = np.arange(len(covered)) + (begins - np.cumsum(lengths) + lengths)[covered]
        return Found(np.concatenate(pieces)[places], covered, covered)

    return find
