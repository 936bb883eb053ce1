"""The n-grams of a text: runs of one to three words, and runs of two to five characters within a word."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
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


def runs_of(words: Sequence[str]) -> Iterator[str]:
    """Yield the runs of one to three words, shorter ones first. The words of a run are joined by a space.

    The start and the end of a text are words too, but only together with others: how a question begins tells its kind.
    """
    yield from words
    if words:
        marked = [START, *words, END]
        for length in range(2, LONGEST_RUN + 1):
            yield from map(" ".join, zip(*(marked[first:] for first in range(length)), strict=False))


def pieces_of(word: str) -> tuple[str, ...]:
    """Return the runs of characters of a word, shorter ones first. A word begins and ends with a space."""
    padded = f" {word} "
    return tuple(
        padded[start : start + length]
        for length in range(_SHORTEST_PIECE, _LONGEST_PIECE + 1)
        for start in range(len(padded) - length + 1)
    )


def occurrences(family: Family, text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each n-gram of a text, as often as it occurs, with the words that it covers: from the first to the last.

    The words are numbered as in `words_of`. The start and the end of a text are not words.
    """
    words = words_of(text)
    if family == "characters":
        for number, word in enumerate(words):
            for piece in pieces_of(word):
                yield piece, number, number
        return
    yield from ((word, number, number) for number, word in enumerate(words))
    marked = [START, *words, END]
    for length in range(2, LONGEST_RUN + 1):
        for first in range(len(marked) - length + 1 if words else 0):
            run = marked[first : first + length]
            yield " ".join(run), max(0, first - 1), min(len(words), first + length - 1) - 1


def _pieces(words: Sequence[str]) -> Iterator[str]:
    return chain.from_iterable(map(pieces_of, words))


NGRAMS: dict[Family, Callable[[Sequence[str]], Iterator[str]]] = {"words": runs_of, "characters": _pieces}
"""The n-grams of each family in a text of some words, each as often as it occurs."""
