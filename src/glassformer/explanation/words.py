"""The words of a text with their places in it, to show shares where a reader sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from tokenizers import PreTokenizedString

from glassformer.data.arrays import IntArray
from glassformer.data.inputs import BEGIN, fields
from glassformer.data.tokenizers import CUT_INTO_WORDS, whole_end

NO_WORD = -1


@dataclass(frozen=True, kw_only=True)
class Word:
    """A word, a punctuation mark or a character of a script without spaces: `text[start:end]` of the whole text.

    The value of a column beside the text is a word too, such as `shop=Berlin`.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class TextInWords:
    """A text cut into words.

    Attributes:
        words: in their order; their spans do not overlap.
        of_counted: (counted words,) for each word that the counting reader counts, the number of the word in `words`. A
            single character such as ½ may hold several counted words.
    """

    text: str
    words: tuple[Word, ...]
    of_counted: IntArray

    @classmethod
    def cut(cls, text: str) -> TextInWords:
        """Cut a text as the counting reader does (`counting.ngrams.words_of`), and keep the spans in the original."""
        words: list[Word] = []
        of_counted: list[int] = []
        for first, last in fields(text):
            if text.startswith(BEGIN, first):
                words.append(Word(text=text[first + 1 : last - 1], start=first, end=last))
                of_counted.append(len(words) - 1)
                continue
            for start, end in _spans_of_words(text[first:last], first):
                if words and start < words[-1].end:  # of ½kg, 2kg begins in the character of the word 1
                    start, end = words[-1].start, max(end, words.pop().end)
                words.append(Word(text=text[start:end], start=start, end=end))
                of_counted.append(len(words) - 1)
        return cls(text=text, words=tuple(words), of_counted=np.array(of_counted, np.int64))

    def of_tokens(self, spans: Sequence[tuple[int, int]]) -> IntArray:
        """Return for each span of characters the number of the word that it overlaps most, or `NO_WORD`."""
        starts = np.array([word.start for word in self.words], np.int64)
        found = np.full(len(spans), NO_WORD, np.int64)
        for place, (start, end) in enumerate(spans):
            first = max(0, int(np.searchsorted(starts, start, side="right")) - 1)
            best = 0
            for number in range(first, len(self.words)):
                word = self.words[number]
                if word.start >= end:
                    break
                overlap = min(end, word.end) - max(start, word.start)
                if overlap > best:
                    best, found[place] = overlap, number
        return found

    def without(self, numbers: Iterable[int]) -> str:
        """Return the text without these words. What stands between words stays."""
        return self.changed(dict.fromkeys(numbers, ""))

    def changed(self, changes: Mapping[int, str]) -> str:
        """Return the text with other words in the place of those numbers. What stands between words stays."""
        pieces = self._pieces.copy()
        for number, word in changes.items():
            pieces[2 * number + 1] = word
        return "".join(pieces)

    @cached_property
    def _pieces(self) -> list[str]:
        """What stands before the first word, the first word, what stands between it and the second, and so on."""
        bounds = [0, *(bound for word in self.words for bound in (word.start, word.end)), len(self.text)]
        return [self.text[start:end] for start, end in pairwise(bounds)]


def _spans_of_words(text: str, first: int) -> Iterator[tuple[int, int]]:
    """Yield where each word of a text stands, if the text begins at the character `first`."""
    pieces = PreTokenizedString(text)
    pieces.normalize(_normalise)
    CUT_INTO_WORDS.pre_tokenize(pieces)
    for _, (start, end), _ in pieces.get_splits(offset_referential="original", offset_type="char"):
        yield first + start, first + whole_end(text, end)


def _normalise(piece: Any) -> None:
    piece.nfkc()
    piece.lowercase()
