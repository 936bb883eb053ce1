"""The n-grams of a text: runs of one to three words, and runs of two to five characters within a word.

Of a row with several inputs (`data/inputs.py`), each text has n-grams of its own: the words of the second text begin
with a separator, those of the third with two. The value of a column is a word that no run and no piece is made of.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import Literal

from glassformer.data.inputs import BEGIN, SEPARATOR, fields
from glassformer.data.tokenizers import CUT_INTO_WORDS

Family = Literal["words", "characters"]
"""A family of n-grams."""

START, END = "<start>", "<end>"  # the pattern cuts these into several words, so no text holds them
LONGEST_RUN = 3  # words
_SHORTEST_PIECE, _LONGEST_PIECE = 2, 5  # characters
_LONGEST_WORD = 100  # characters of a word that are read
_ASCII_WORD = re.compile(r"[a-z0-9]++(?:'[a-z]++)*+|[^\t-\r a-z0-9]")  # without ways back: 1.6 times as fast
_ASCII_LONG = re.compile(rf"[a-z0-9']{{{_LONGEST_WORD + 1}}}")


def words_of(text: str) -> list[str]:
    """Return the words in lower case, in Unicode's form NFKC. They are those of the tokenizer of kind `word`.

    (Except for a capital sigma at the end of a word, and for letters that one of both libraries does not know yet.)
    Each punctuation mark is a word, and so is each character of a script without spaces between words.
    """
    if text.startswith(BEGIN) or SEPARATOR in text:
        return list(_words_of_fields(text))
    return _plain_words(text)


def _words_of_fields(text: str) -> Iterator[str]:
    number = 0
    for start, end in fields(text):
        if text.startswith(BEGIN, start):
            yield text[start:end]
            continue
        yield from (SEPARATOR * number + word for word in _plain_words(text[start:end]))
        number += 1


def _plain_words(text: str) -> list[str]:
    if text.isascii() and not _ASCII_LONG.search(lower := text.lower()):
        return _ASCII_WORD.findall(lower)  # the same words, four times as fast
    parts = text.split(" ")
    cut = _short_part if len(max(parts, key=len)) <= _LONGEST_WORD else _words_of_part
    return list(chain.from_iterable(map(cut, parts)))


def _words_of_part(text: str) -> tuple[str, ...]:
    lower = unicodedata.normalize("NFKC", text).lower()
    return tuple(word[:_LONGEST_WORD] for word, _ in CUT_INTO_WORDS.pre_tokenize_str(lower))


_short_part = lru_cache(10_000)(_words_of_part)  # many words occur in many texts


def field_of(word: str) -> int:
    """Return the number of the text that a word is of, from 0 on; -1 for the value of a column."""
    return -1 if word.startswith(BEGIN) else len(word) - len(word.lstrip(SEPARATOR))


def runs_of(words: Sequence[str]) -> Iterator[str]:
    """Yield the runs of one to three words, shorter ones first. The words of a run are joined by a space.

    The start and the end of a text are words too, but only together with others: how a question begins tells its kind.
    """
    yield from words
    texts = [[START, *text, END] for _, text in texts_in(words)]
    for length in range(2, LONGEST_RUN + 1):
        for marked in texts:
            yield from map(" ".join, zip(*(marked[first:] for first in range(length)), strict=False))


def marked(words: Sequence[str]) -> list[str]:
    """Return the words of a row with the start and the end of each of its texts."""
    found: list[str] = []
    after = 0
    for first, text in texts_in(words):
        found += [*words[after:first], START, *text, END]
        after = first + len(text)
    return [*found, *words[after:]]


def texts_in(words: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the words of each text of a row, with the number of the first. A text without words is left out."""
    if not words or (words[0][0] not in (BEGIN, SEPARATOR) and words[-1][0] != SEPARATOR):
        if words:
            yield 0, words
        return
    first = 0
    for field, run in groupby(words, field_of):
        text = list(run)
        if field >= 0:
            yield first, text
        first += len(text)


def pieces_of(word: str) -> tuple[str, ...]:
    """Return the runs of characters of a word, shorter ones first. A word begins and ends with a space."""
    if word[:1] == BEGIN:
        return ()
    plain = word.lstrip(SEPARATOR)
    padded, field = f" {plain} ", word[: len(word) - len(plain)]
    return tuple(
        field + padded[start : start + length]
        for length in range(_SHORTEST_PIECE, _LONGEST_PIECE + 1)
        for start in range(len(padded) - length + 1)
    )


def _pieces(words: Sequence[str]) -> Iterator[str]:
    return chain.from_iterable(map(pieces_of, words))


NGRAMS: dict[Family, Callable[[Sequence[str]], Iterator[str]]] = {"words": runs_of, "characters": _pieces}
"""The n-grams of each family in a text of some words, each as often as it occurs."""
