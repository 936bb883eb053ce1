"""The n-grams of a text: runs of one to three words, and runs of two to five characters within a word."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from tokenizers import Regex, pre_tokenizers

from glassformer.data.tokenizer_file import WORD_PATTERN

Family = Literal["words", "characters"]
"""A family of n-grams."""

_CUT = pre_tokenizers.Split(Regex(WORD_PATTERN), "removed", invert=True)
START, END = "<start>", "<end>"  # the pattern cuts these into several words, so no text holds them
_LONGEST_RUN = 3  # words
_SHORTEST_PIECE, _LONGEST_PIECE = 2, 5  # characters
_LONGEST_WORD = 100  # characters of a word that are read


def words_of(text: str) -> list[str]:
    """Return the words in lower case, in Unicode's form NFKC. They are those of the tokenizer of kind `word`.

    (Except for a capital sigma at the end of a word, and for letters that one of both libraries does not know yet.)
    Each punctuation mark is a word, and so is each character of a script without spaces between words.
    """
    return [word[:_LONGEST_WORD] for word, _ in _CUT.pre_tokenize_str(unicodedata.normalize("NFKC", text).lower())]


def word_ngrams(text: str) -> Counter[str]:
    """Count the runs of one to three words. The words of a run are joined by a space.

    The start and the end of a text are words too, but only together with others: how a question begins tells its kind.
    """
    words = words_of(text)
    runs = Counter(words)
    if words:
        marked = [START, *words, END]
        for length in range(2, _LONGEST_RUN + 1):
            runs.update(map(" ".join, zip(*(marked[first:] for first in range(length)), strict=False)))
    return runs


def character_ngrams(text: str) -> Counter[str]:
    """Count the runs of two to five characters within words. A word begins and ends with a space."""
    pieces: Counter[str] = Counter()
    for word, count in Counter(words_of(text)).items():
        for piece in _pieces(word):
            pieces[piece] += count
    return pieces


@lru_cache(maxsize=100_000)
def _pieces(word: str) -> tuple[str, ...]:
    padded = f" {word} "
    return tuple(
        padded[start : start + length]
        for length in range(_SHORTEST_PIECE, _LONGEST_PIECE + 1)
        for start in range(len(padded) - length + 1)
    )


NGRAMS: dict[Family, Callable[[str], Counter[str]]] = {"words": word_ngrams, "characters": character_ngrams}
"""How the n-grams of each family are counted."""
