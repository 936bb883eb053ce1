"""Find the rules that match a text, in a time in proportion to its length."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from glassformer.data.inputs import BEGIN, END, RESERVED
from glassformer.data.installed import pip_install
from glassformer.errors import UsageError, brief
from glassformer.readers.counting.ngrams import field_of, words_of
from glassformer.readers.rules.parsing import Rule, search

_BREAK = ""  # between the texts of a row: no phrase goes on from one to the next
_MOST_SECONDS, _A_CHARACTER = 20, 1e-6  # seconds for all texts, and more by pattern: most take a hundredth of it
_BEGINNING = 10_000  # characters, which tell how long a search will take
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

    @cached_property
    def _searches(self) -> dict[int, Callable[[str], bool]]:
        return {rule: search(pattern) for rule, pattern in self.patterns.items()}

    def matches(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the rules that match each text, in ascending order."""
        found = [{rule for rule, _ in self._phrases_in(text)} if self.phrases else set() for text in texts]
        for row, rule in self._patterns_in([_written(text) for text in texts] if self.patterns else []):
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
        for _, rule in self._patterns_in([written]):
            marked = _as_series([written]).str.replace_all(self.patterns[rule], f"{BEGIN}${{0}}{END}")[0]
            spans = [(each.start() - 2 * i, each.end() - 2 * i - 2) for i, each in enumerate(_FOUND.finditer(marked))]
            found[rule] = set(_covered(spans, words))
        return found

    def _patterns_in(self, written: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield each text in which a pattern matches, and the rule. Raises `UsageError` if that takes too long."""
        most = _MOST_SECONDS + _A_CHARACTER * len(self.patterns) * sum(map(len, written))
        until = time.perf_counter() + most
        for rule, pattern in self.patterns.items():
            for row, text in enumerate(written):
                if _matches(pattern, text, until, self._searches[rule]):
                    yield row, rule

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


def _matches(pattern: str, text: str, until: float, search: Callable[[str], bool]) -> bool:
    """Whether a pattern matches. Raises `UsageError` if the search would end too late, since nothing stops it."""
    now = time.perf_counter()
    if len(text) > _BEGINNING:
        search(text[:_BEGINNING])
        now += (time.perf_counter() - now) * len(text) / _BEGINNING
    if now > until:
        raise UsageError(
            f"the rules take too long to find in texts, most of all the pattern {brief(pattern)}; make its repetitions "
            "shorter, such as {1,30}"
        )
    return search(text)


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
