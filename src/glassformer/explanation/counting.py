"""What each n-gram and each word of a text adds to the logits of the counting reader. The shares are exact."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import FloatArray
from glassformer.data.inputs import SEPARATOR, Inputs, values_of
from glassformer.explanation.words import TextInWords
from glassformer.readers.counting.ngrams import Family, occurrences
from glassformer.readers.counting.reader import CountingReader, spread


@dataclass(frozen=True, kw_only=True)
class NgramShare:
    """What an n-gram adds to the logits, however often it occurs: `logits` (n_classes,)."""

    ngram: str
    family: Family
    count: int
    logits: FloatArray


@dataclass(frozen=True, kw_only=True)
class CountedShares:
    """The logits of the counting reader in parts. All rows of `words` and `bias` add up to them.

    Attributes:
        words: (words, n_classes). The share of an n-gram is divided equally among its occurrences, and that of an
            occurrence equally among its words.
        bias: (n_classes,) the logits of a text without known n-grams.
    """

    ngrams: tuple[NgramShare, ...]
    words: FloatArray
    bias: FloatArray


def counted_shares(reader: CountingReader, text: TextInWords) -> CountedShares:
    """Divide the logits of a text among its n-grams and words."""
    by_ngram = reader.of_ngrams(text.text)
    places = {
        (family.family, ngram): found
        for family in reader.families
        for ngram, found in _places(family.family, text.text).items()
    }
    words = np.zeros((len(text.words), reader.n_classes), np.float32)
    shares = []
    for (family, ngram), logits in by_ngram.items():
        spans = places[family, ngram]
        shares.append(NgramShare(ngram=ngram, family=family, count=spans.total(), logits=logits))
        for (first, last), times in spans.items():
            covered = text.of_counted.take(range(first, last + 1), mode="clip")
            np.add.at(words, covered, logits * (times / spans.total() / len(covered)))
    return CountedShares(ngrams=tuple(shares), words=words, bias=spread(reader.bias[None], reader.n_classes)[0])


def named(ngram: str, inputs: Inputs | None) -> tuple[str, str | None]:
    """Return an n-gram as people read it, and the column that it is in: None if the model reads one text."""
    if inputs is None:
        return ngram, None
    if values := values_of(ngram):
        return values[0], next((each.name for each in inputs.columns if values[0].startswith(f"{each.name}=")), None)
    words = ngram.split(" ")
    field = max(len(word) - len(word.lstrip(SEPARATOR)) for word in words)
    return ngram.replace(SEPARATOR, ""), inputs.texts[min(field, len(inputs.texts) - 1)]


def _places(family: Family, text: str) -> dict[str, Counter[tuple[int, int]]]:
    """Return ngram → the first and last word of each occurrence, with how many occurrences these are."""
    found: dict[str, Counter[tuple[int, int]]] = {}
    for ngram, first, last in occurrences(family, text):
        found.setdefault(ngram, Counter())[first, last] += 1
    return found
