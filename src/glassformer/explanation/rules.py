"""The rules that match a text, and what each adds to the scores. The shares are exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glassformer.data.arrays import DoubleArray, FloatArray
from glassformer.explanation.shares import signed
from glassformer.explanation.words import TextInWords
from glassformer.readers.rules.reader import RulesReader


@dataclass(frozen=True, kw_only=True)
class MatchedRule:
    """A rule that matches the text.

    Attributes:
        rule: in words, with its line in the file.
        effect: what it does: the score that it adds to its label, or that it decides, or which rule silences it.
    """

    rule: str
    share: float
    effect: str

    def __str__(self) -> str:
        return f"{self.rule}, {self.effect}"


@dataclass(frozen=True, kw_only=True)
class RuledShares:
    """The scores of the rules in parts. The rows of `words` and `nothing` add up to them, and those of `rules` too.

    Attributes:
        rules: (matched rules, width)
        words: (words, width). What a rule adds is divided equally among the words in which it matches.
        nothing: (width,) what rules add that match no word.
    """

    reader: RulesReader
    matched: tuple[int, ...]
    words: FloatArray
    nothing: FloatArray

    @cached_property
    def _added(self) -> dict[int, float]:
        return self.reader.added(self.matched)

    def told(self, direction: DoubleArray) -> tuple[MatchedRule, ...]:
        """Return what each rule adds to a margin, `scores @ direction`."""
        silencing = self.reader.silencing(self.matched)
        return tuple(
            MatchedRule(
                rule=self.reader.named(rule),
                share=self._added[rule] * float(direction[self.reader.rules[rule].label]),
                effect="decides"
                if silencing.get(rule) == rule
                else f"silent, as line {self.reader.rules[silencing[rule]].line} decides"
                if rule in silencing
                else self.reader.saying.adds or signed(self._added[rule]),
            )
            for rule in self.matched
        )


def ruled_shares(reader: RulesReader, text: TextInWords) -> RuledShares:
    """Divide the scores of a text among the words in which its rules match."""
    places = reader.matcher.places(text.text, [(word.start, word.end) for word in text.words], text.of_counted.tolist())
    matched = sorted(places)
    words, nothing = np.zeros((len(text.words), len(reader.saying.outputs)), reader.saying.precision), reader.bias
    for rule, added in reader.added(matched).items():
        label, covered = reader.rules[rule].label, sorted(places[rule])
        if covered:
            words[covered, label] += added / len(covered)
        else:
            nothing[label] += added
    return RuledShares(reader=reader, matched=tuple(matched), words=words, nothing=nothing)
