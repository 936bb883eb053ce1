"""Methods that hide words and read again: occlusion, leave-one-out and Shapley values. They need answers alone."""

from collections.abc import Callable

import numpy as np

from glassformer.data.arrays import BoolArray, DoubleArray, IntArray
from glassformer.data.tokenizers import UNKNOWN_ID
from glassformer.errors import UsageError
from glassformer.explanation.reading import TokenReading
from glassformer.explanation.words import NO_WORD

_ORDERS = 10  # and each of them backwards, too
SHAPLEY_WORDS = 32
"""`shapley` explains texts of so many words at most. Its cost grows with the square of their number."""

_OfWords = Callable[[IntArray, BoolArray], DoubleArray]
"""Takes a window (seq,) and the tokens of each of its words (words, seq), and returns a value for each word."""


def occlusion(reading: TokenReading) -> DoubleArray:
    """Replace each word by unknown tokens (Zeiler & Fergus 2014). The tokens of a word share the change equally.

    A word that is in several windows is hidden in each of them by itself.
    """
    return _word_by_word(reading, _taken_away(reading, lambda window, of_word: np.where(of_word, UNKNOWN_ID, window)))


def leave_one_out(reading: TokenReading) -> DoubleArray:
    """Delete each word, so that the text is shorter (Li et al. 2016). Its tokens share the change equally.

    A word that is in several windows is deleted from each of them by itself.
    """
    return _word_by_word(reading, _taken_away(reading, lambda window, of_word: window[~of_word]))


def shapley(reading: TokenReading) -> DoubleArray:
    """Show the words one after the other, in random orders, and average what the margin gains with each.

    This estimates the Shapley value of a word (Castro et al. 2009; Štrumbelj & Kononenko 2010). Words that
    are not shown yet are unknown tokens. The values add up to `margin - margin_of_nothing`, for any number of orders.
    Each order is taken backwards as well, which makes the estimate more precise (Mitchell et al. 2022).

    Raises:
        UsageError: the text is too long.
    """
    n_words = len(np.setdiff1d(reading.groups, [NO_WORD]))
    if n_words > SHAPLEY_WORDS:
        raise UsageError(
            f"`method='shapley'`: the text has {n_words:,} words, more than {SHAPLEY_WORDS}; choose another method"
        )
    random = np.random.default_rng(0)

    def values(window: IntArray, words: BoolArray) -> DoubleArray:
        drawn = random.permuted(np.tile(np.arange(len(words)), (_ORDERS, 1)), axis=1)  # when each word is shown
        rank = np.concatenate([drawn, drawn.max() - drawn])  # (orders, words)
        shown = rank[:, None, :] < np.arange(len(words) + 1)[:, None]  # (orders, steps, words)
        away = (~shown).astype(np.float32) @ words.astype(np.float32) > 0
        rows = np.where(away, UNKNOWN_ID, window).reshape(-1, len(window))
        gains = np.diff(reading.margins_of(list(rows)).reshape(len(rank), -1), axis=1)
        return np.take_along_axis(gains, rank, axis=1).mean(axis=0)

    return _word_by_word(reading, values)


def _word_by_word(reading: TokenReading, values_of: _OfWords) -> DoubleArray:
    """Return the value of each token: that of its word in each window, shared equally among its tokens."""
    windows, starts = reading.windows
    values = np.zeros((len(windows), windows.shape[1] - 1))
    for number, (window, start) in enumerate(zip(windows, starts, strict=True)):
        groups = reading.groups[start : start + len(window) - 1]
        words = groups == np.setdiff1d(groups, [NO_WORD])[:, None]
        if len(words):
            with_start = np.pad(words, ((0, 0), (1, 0)))  # the start token belongs to no word
            values[number] = values_of(window, with_start) / words.sum(axis=1) @ words
    return reading.spread(values)


def _taken_away(reading: TokenReading, without: Callable[[IntArray, BoolArray], IntArray]) -> _OfWords:
    """Return a function for what the margin loses if a word is taken away.

    Args:
        without: returns a window without the tokens of a word, which a mask marks.
    """

    def values_of(window: IntArray, words: BoolArray) -> DoubleArray:
        whole, *others = reading.margins_of([window, *(without(window, of_word) for of_word in words)])
        return whole - np.array(others)

    return values_of
