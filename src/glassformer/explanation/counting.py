"""What each n-gram and each word of a text adds to the logits of the counting reader. The shares are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import FloatArray
from glassformer.data.inputs import SEPARATOR, Inputs, values_of
from glassformer.explanation.words import TextInWords
from glassformer.readers.counting.ngrams import Family, words_of
from glassformer.readers.counting.reader import CountingReader, count, spread


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
