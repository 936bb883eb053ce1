"""How different completions are from each other."""

from __future__ import annotations

from collections.abc import Sequence


def distinct_n(sequences: Sequence[Sequence[int]], n: int) -> float:
    """Distinct n-grams of token ids as a share of all n-grams of all sequences; 0 if no sequence has n tokens.

    Li et al. 2016 divide by the number of tokens; then even n-grams that never repeat do not reach 1. The share falls
    with the amount of text, so compare equal amounts.
    """
    ngrams = [tuple(ids[start : start + n]) for ids in sequences for start in range(len(ids) - n + 1)]
    return len(set(ngrams)) / len(ngrams) if ngrams else 0.0
