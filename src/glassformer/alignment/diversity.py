"""Whether completions still differ from each other."""

from __future__ import annotations

from collections.abc import Sequence


def distinct_n(sequences: Sequence[Sequence[int]], n: int) -> float:
    """Distinct n-grams of token ids as a share of all, over all sequences together; 0 where none is n tokens long.

    Li et al. 2016, who divide by the number of tokens: then even n-grams that never repeat do not reach 1. The share
    falls as there is more text, so compare equal amounts.
    """
    ngrams = [tuple(ids[start : start + n]) for ids in sequences for start in range(len(ids) - n + 1)]
    return len(set(ngrams)) / len(ngrams) if ngrams else 0.0
