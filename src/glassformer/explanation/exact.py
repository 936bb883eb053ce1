"""What n-grams, words and rules add to the scores of the readers whose shares are exact: counting and rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glassformer.data.arrays import DoubleArray, FloatArray
from glassformer.data.inputs import SEPARATOR, Inputs, values_of
from glassformer.explanation.shares import signed
from glassformer.explanation.words import TextInWords
from glassformer.readers.counting.ngrams import Family, words_of
from glassformer.readers.counting.reader import CountingReader, count, spread
from glassformer.readers.rules.reader import RulesReader


@dataclass(frozen=True, kw_only=True)
class CountedShares:
    """The logits of the counting reader in parts: `bias` and all rows of `words`, or `bias` and all rows of `logits`.

    Attributes:
        ngrams: the known n-grams of the text, each with its family.
        counts: (n-grams,) how often each occurs.
        logits: (n-grams, n_classes) what each adds, however often it occurs.
        words: (words, n_classes). The share of an n-gram is divided equally among its occurrences, and that of an
            occurrence equally among its words.
        bias: (n_classes,) the logits of a text without known n-grams.
    """

    ngrams: Sequence[tuple[Family, str]]
    counts: FloatArray
    logits: FloatArray
    words: FloatArray
    bias: FloatArray


def counted_shares(reader: CountingReader, text: TextInWords) -> CountedShares:
    """Divide the logits of a text among its n-grams and words."""
    cut, ngrams = words_of(text.text), list[tuple[Family, str]]()
    words = np.zeros((len(text.words), reader.n_classes), np.float32)
    counts, logits = [np.zeros(0, np.float32)], [words[:0]]
    for family in reader.families:
        found = family.find([cut])
        known = count(found.ngrams, np.zeros(len(found.ngrams), np.int64), 1)
        ngrams += [(family.family, family.ngrams[number]) for number in known.ngrams.tolist()]
        counts.append(known.counts)
        logits.append(spread(family.terms(known), reader.n_classes))
        # A piece may occur twice in a word, so a place may count several times.
        rows = np.searchsorted(known.ngrams, found.ngrams)
        _, place, times = np.unique(rows * len(cut) + found.first, return_index=True, return_counts=True)
        row, first, lengths = rows[place], found.first[place], (found.last - found.first)[place] + 1
        each = np.repeat(np.arange(len(row)), lengths)
        within = np.arange(len(each)) - (np.cumsum(lengths) - lengths)[each]
        covered = text.of_counted.take(first[each] + within, mode="clip")
        parts = (times / known.counts[row].astype(np.float64) / lengths).astype(np.float32)[each]
        for of_class, added in zip(words.T, logits[-1].T, strict=True):
            np.add.at(of_class, covered, added[row][each] * parts)
    return CountedShares(
        ngrams=ngrams,
        counts=np.concatenate(counts),
        logits=np.concatenate(logits),
        words=words,
        bias=spread(reader.bias[None], reader.n_classes)[0],
    )


def named(ngram: str, inputs: Inputs | None) -> tuple[str, str | None]:
    """Return an n-gram as people read it, and the column that it is in: None if the model reads one text."""
    if inputs is None:
        return ngram, None
    if values := values_of(ngram):
        return values[0], next((each.name for each in inputs.columns if values[0].startswith(f"{each.name}=")), None)
    words = ngram.split(" ")
    field = max(len(word) - len(word.lstrip(SEPARATOR)) for word in words)
    return ngram.replace(SEPARATOR, ""), inputs.texts[min(field, len(inputs.texts) - 1)]


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
