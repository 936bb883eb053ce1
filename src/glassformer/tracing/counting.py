"""The steps of the counting reader in a trace: from how often n-grams occur in a text to its logits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.inputs import Inputs
from glassformer.explanation.exact import named
from glassformer.readers.counting.ngrams import words_of
from glassformer.readers.counting.reader import CountingReader, Counts, NgramWeights, spread, tfidf_values
from glassformer.tracing.steps import NGRAMS, Matrix, matrix, with_axes

_Found = list[tuple[NgramWeights, Counts]]


def counting_steps(reader: CountingReader, text: str, inputs: Inputs | None) -> tuple[tuple[str, ...], list[Matrix]]:
    """Return the known n-grams of a text, and the matrices from their numbers to the logits."""
    words = [words_of(text)]
    found = [(family, family.counts(words)) for family in reader.families]
    names = tuple(_named(family, number, inputs) for family, of in found for number in of.ngrams.tolist())
    steps, inputs_of_shares = list[Matrix](), list[str]()
    shares = np.zeros((len(names), reader.n_classes), np.float32)
    if any(family.tfidf is not None for family, _ in found):
        values = _joined(tfidf_values(of, family.idf) for family, of in found)
        weights = _weights(reader, found, "tfidf")
        steps += [*_values(found, values), matrix("weight", "counting.value-weights", weights, rows=NGRAMS)]
        shares = values[:, None] * weights
        inputs_of_shares += ["counting.values", "counting.value-weights"]
    if any(family.presence is not None for family, _ in found):
        weights = _weights(reader, found, "presence")
        steps.append(matrix("weight", "counting.presence-weights", weights, rows=NGRAMS))
        shares = shares + weights
        inputs_of_shares.append("counting.presence-weights")
    operation = ("given", "same", "scaled-rows", "scaled-rows-plus")[len(inputs_of_shares)]
    bias = spread(reader.bias[None], reader.n_classes)[0]
    return names, [
        *steps,
        matrix(operation, "counting.ngrams", shares, *inputs_of_shares, rows=NGRAMS),
        matrix("weight", "counting.bias", bias),
        matrix("column-sum", "counting.logits", shares.sum(axis=0) + bias, "counting.ngrams", "counting.bias"),
    ]


def _values(found: _Found, values: FloatArray) -> list[Matrix]:
    """Return the steps from how often each n-gram occurs to its value."""
    counts, idf = _joined(of.counts for _, of in found), _joined(family.idf[of.ngrams] for family, of in found)
    vectors = [number for number, (_, of) in enumerate(found) for _ in of.ngrams]
    return [
        with_axes((NGRAMS,), "given", "counting.counts", counts),
        with_axes((NGRAMS,), "weight", "counting.idf", idf),
        with_axes(
            (NGRAMS,), "tf-idf", "counting.tf-idf", (1 + np.log(counts)) * idf, "counting.counts", "counting.idf"
        ),
        with_axes((NGRAMS,), "unit-length", "counting.values", values, "counting.tf-idf", vectors=vectors),
    ]


def _weights(reader: CountingReader, found: _Found, kind: str) -> FloatArray:
    """Return the weights of n-grams as those of logits, (n-grams, classes). Those of a family without them are 0."""
    none = np.zeros((0, len(reader.bias)), np.float32)
    parts = [
        np.zeros((len(of.ngrams), len(reader.bias)), np.float32) if weights is None else weights[of.ngrams]
        for family, of in found
        for weights in [getattr(family, kind)]
    ]
    return spread(np.concatenate([none, *parts]), reader.n_classes)


def _joined(parts: Iterable[Array]) -> FloatArray:
    return np.concatenate([np.zeros(0, np.float32), *parts]).astype(np.float32)


def _named(family: NgramWeights, number: int, inputs: Inputs | None) -> str:
    ngram = family.ngrams[number]
    if family.family == "characters":
        ngram = ngram.replace(" ", "␣")  # at the ends, a space would not be seen
    shown, where = named(ngram, inputs)
    if where is None or family.family == "characters":  # which are the same in each text
        return f"{shown} ({family.family})"
    return f"{shown} ({family.family}, {where})"
