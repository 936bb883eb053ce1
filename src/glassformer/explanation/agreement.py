"""Do the methods agree? An explanation that another method contradicts should not be relied on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glassformer.data.arrays import DoubleArray
from glassformer.explanation.attribution import INSIDE, METHODS
from glassformer.explanation.reading import TokenReading, of_words
from glassformer.explanation.words import NO_WORD

COMPARED = ("integrated-gradients", "gradient-x-input", "occlusion", "leave-one-out")
"""The methods that are compared. Rollout has no direction."""
WORDS_COMPARED = 16
"""So many words of a longer text are drawn, because two of the methods read the text once for each word."""
FEWEST_WORDS = 4


def measure_agreement(
    reading: TokenReading, others: DoubleArray, transformer: DoubleArray, method: str
) -> Mapping[str, float]:
    """Return for each other method the rank correlation (Spearman) of its shares of words with these.

    Empty if there are too few words, or if a ranking is undefined because all its shares are equal.

    Args:
        others: (words,) the shares by other readers, which all methods have in common.
        transformer: (words,) the shares of the transformer by `method`.
    """
    words = np.setdiff1d(reading.groups, [NO_WORD])
    if len(words) < FEWEST_WORDS:
        return {}
    drawn = np.random.default_rng(0).permutation(words)[:WORDS_COMPARED]
    some = replace(reading, groups=np.where(np.isin(reading.groups, drawn), reading.groups, NO_WORD))
    found = {}
    for name in COMPARED:
        if name != method and not (reading.model is None and name in INSIDE):
            other = others + of_words(some, METHODS[name](some), len(others))
            found[name] = _correlation((others + transformer)[drawn], other[drawn])
    return {name: value for name, value in found.items() if value is not None}


def _correlation(first: DoubleArray, second: DoubleArray) -> float | None:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: DoubleArray) -> DoubleArray:
    """Return the rank of each value; equal values share the mean of their ranks."""
    _, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: DoubleArray = np.cumsum(counts) - (counts - 1) / 2
    return middle[number]
