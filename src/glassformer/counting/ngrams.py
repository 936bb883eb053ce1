"""The n-grams of a text: runs of one to three words, and runs of two to five characters within a word."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal

from glassformer.data.tokenizers import CUT_INTO_WORDS

Family = Literal["words", "characters"]
"""A family of n-grams."""

START, END = "<start>", "<end>"  # the pattern cuts these into several words, so no text holds them
LONGEST_RUN = 3  # words
_SHORTEST_PIECE, _LONGEST_PIECE = 2, 5  # characters
_LONGEST_WORD = 100  # characters of a word that are read


def words_of(text: str) -> list[str]:
    """Return the words in lower case, in Unicode's form NFKC. They are those of the tokenizer of kind `word`.

    (Except for a capital sigma at the end of a word, and for letters that one of both libraries does not know yet.)
    Each punctuation mark is a word, and so is each character of a script without spaces between words.
    """
    lower = unicodedata.normalize("NFKC", text).lower()
    return [word[:_LONGEST_WORD] for word, _ in CUT_INTO_WORDS.pre_tokenize_str(lower)]


def word_ngrams(text: str) -> Counter[str]:
    """Count the runs of one to three words. The words of a run are joined by a space.

    The start and the end of a text are words too, but only together with others: how a question begins tells its kind.
    """
    words = words_of(text)
    runs = Counter(words)
    if words:
        marked = [START, *words, END]
        for length in range(2, LONGEST_RUN + 1):
            runs.update(map(" ".join, zip(*(marked[first:] for first in range(length)), strict=False)))
    return runs


def character_ngrams(text: str) -> Counter[str]:
    """Count the runs of two to five characters within words. A word begins and ends with a space."""
    pieces: Counter[str] = Counter()
    for word, count in Counter(words_of(text)).items():
        for piece in _known_pieces(word):
            pieces[piece] += count
    return pieces


def pieces_of(word: str) -> tuple[str, ...]:
    """Return the runs of characters of a word, shorter ones first."""
    padded = f" {word} "
    return tuple(
        padded[start : start + length]
        for length in range(_SHORTEST_PIECE, _LONGEST_PIECE + 1)
        for start in range(len(padded) - length + 1)
    )


_known_pieces = lru_cache(maxsize=100_000)(pieces_of)  # many words occur in many texts


def occurrences(family: Family, text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each n-gram of a text, as often as it occurs, with the words that it covers: from the first to the last.

    The words are numbered as in `words_of`. The start and the end of a text are not words.
    """
    words = words_of(text)
    if family == "characters":
        for number, word in enumerate(words):
            for piece in _known_pieces(word):
                yield piece, number, number
        return
    yield from ((word, number, number) for number, word in enumerate(words))
    marked = [START, *words, END]
    for length in range(2, LONGEST_RUN + 1):
        for first in range(len(marked) - length + 1 if words else 0):
            run = marked[first : first + length]
            yield " ".join(run), max(0, first - 1), min(len(words), first + length - 1) - 1


NGRAMS: dict[Family, Callable[[str], Counter[str]]] = {"words": word_ngrams, "characters": character_ngrams}
"""How the n-grams of each family are counted."""
