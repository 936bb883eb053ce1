"""Find the rules that match a text, in a time in proportion to its length."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from glassformer.data.inputs import BEGIN, END, RESERVED
from glassformer.data.installed import pip_install
from glassformer.errors import UsageError
from glassformer.readers.counting.ngrams import field_of, words_of
from glassformer.readers.rules.parsing import Rule

_BREAK = ""  # between the texts of a row: no phrase goes on from one to the next
_FOUND = re.compile(f"{BEGIN}([^{BEGIN}{END}]*){END}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Matcher:
    """The rules by what they match.

    Attributes:
        phrases: the numbers of the rules with these words.
        lengths: by the first word of a phrase, the lengths of such phrases.
        patterns: by the numbers of their rules.
    """

    phrases: Mapping[tuple[str, ...], Sequence[int]]
    lengths: Mapping[str, Sequence[int]]
    patterns: Mapping[int, str]

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> Matcher:
        phrases: dict[tuple[str, ...], list[int]] = {}
        lengths: dict[str, set[int]] = {}
        for number, rule in enumerate(rules):
            if rule.phrase:
                phrases.setdefault(rule.phrase, []).append(number)
                lengths.setdefault(rule.phrase[0], set()).add(len(rule.phrase))
        patterns = {number: rule.pattern for number, rule in enumerate(rules) if rule.pattern}
        return cls(phrases=phrases, lengths={word: sorted(each) for word, each in lengths.items()}, patterns=patterns)

    def matches(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the rules that match each text, in ascending order."""
        found = [{rule for rule, _ in self._phrases_in(text)} if self.phrases else set() for text in texts]
        if self.patterns and texts:
            series = _as_series([_written(text) for text in texts])
            for rule, pattern in self.patterns.items():
                for row in series.str.contains(pattern).arg_true().to_list():
                    found[row].add(rule)
        return [sorted(each) for each in found]

    def places(self, text: str, words: Sequence[tuple[int, int]], of_counted: Sequence[int]) -> dict[int, set[int]]:
        """Return for each rule that matches a text the numbers of the words in which it does. There may be none.

        Args:
            words: (start, end) of each word.
            of_counted: for each of `words_of(text)`, its number in `words`.
        """
        found: dict[int, set[int]] = {}
        for rule, counted in self._phrases_in(text):
            found.setdefault(rule, set()).update(of_counted[place] for place in counted if place < len(of_counted))
        if not self.patterns:
            return found
        written = _written(text)
        if not unicodedata.is_normalized("NFC", text):
            words = [(len(_written(text[:start])), len(_written(text[:end]))) for start, end in words]
        series = _as_series([written])
        for rule, pattern in self.patterns.items():
            if series.str.contains(pattern)[0]:
                marked = series.str.replace_all(pattern, f"{BEGIN}${{0}}{END}")[0]
                spans = [
                    (each.start() - 2 * i, each.end() - 2 * i - 2) for i, each in enumerate(_FOUND.finditer(marked))
                ]
                found[rule] = set(_covered(spans, words))
        return found

    def _phrases_in(self, text: str) -> Iterator[tuple[int, list[int]]]:
        """Yield each phrase of a text: the number of its rule, and the numbers of its words among `words_of`."""
        words, places, field = [], [], 0
        for place, word in enumerate(words_of(text)):
            own = field_of(word)
            if own != field or own < 0:
                words.append(_BREAK)
                places.append(place)
            field = own
            inner = words_of(word[1:-1]) if own < 0 else [word[own:]]
            words += inner
            places += [place] * len(inner)
        for first, word in enumerate(words):
            for length in self.lengths.get(word, ()):
                for rule in self.phrases.get(tuple(words[first : first + length]), ()):
                    yield rule, places[first : first + length]


def _covered(spans: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the numbers of the words that overlap a span. Both are in the order of the text."""
    first = 0
    for start, end in spans:
        while first < len(words) and words[first][1] <= start:
            first += 1
        for number in range(first, len(words)):
            if words[number][0] >= end:
                break
            yield number


def _written(text: str) -> str:
    """Return what patterns read: in Unicode's form NFC, the inputs of a row on lines of their own."""
    return re.sub(RESERVED, "\n", unicodedata.normalize("NFC", text))


def _as_series(texts: list[str]):  # type: ignore[no-untyped-def] # polars is not always there
    try:
        import polars as pl
    except ImportError as error:
        raise UsageError(
            f"the patterns of rules need Polars, which is not installed: {pip_install('tables')}"
        ) from error
    return pl.Series(texts, dtype=pl.String)
