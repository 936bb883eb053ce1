"""The steps of the body reader in a trace: from the words of a text to its scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from glassformer.data.arrays import FloatArray
from glassformer.data.inputs import Inputs
from glassformer.data.wording import counted
from glassformer.explanation.exact import named
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.counting.ngrams import field_of, words_of
from glassformer.tracing.steps import CLASSES, FEATURES, PARTS, WORDS, Matrix, matrix, with_axes


class _Word(NamedTuple):
    """A word as the body reads it: whole, by the mean of its pieces, or not at all.

    Attributes:
        field: the number of its text among those of a row.
        parts: the word itself, or its known pieces.
        values: (parts, values)
    """

    name: str
    field: int
    parts: tuple[str, ...]
    values: FloatArray
    weight: float


def body_steps(reader: BodyReader, text: str, inputs: Inputs | None) -> tuple[dict[str, tuple[str, ...]], list[Matrix]]:
    """Return the names of words and of their parts, and the matrices from these to the scores.

    Of several texts, the values of each stand in columns of their own, as if they were one text with longer vectors.
    """
    words = list(_read(reader, text, inputs))
    fields, (texts, size, width) = np.array([word.field for word in words], np.int64), reader.head.shape
    found = np.zeros((sum(len(word.parts) for word in words), texts, size), np.float32)
    parts: list[list[int]] = []
    for word in words:
        first = sum(map(len, parts))
        parts.append(list(range(first, first + len(word.parts))))
        found[parts[-1], word.field] = word.values
    wide = found.reshape(len(found), texts * size)
    values = np.array([wide[rows].mean(axis=0) if rows else np.zeros(texts * size) for rows in parts], np.float32)
    values = values.reshape(len(words), texts * size)
    weights = np.array([word.weight for word in words], np.float32)
    whole = np.bincount(fields, weights, minlength=texts)[fields]
    rest = reader.pseudocount
    shares = (weights / np.maximum(whole + rest, np.finfo(np.float32).tiny)).astype(np.float32)
    mean, head = shares @ values, reader.head.reshape(texts * size, width).T
    steps = [
        with_axes((PARTS, FEATURES), "given", "body.parts", wide),
        with_axes((WORDS, FEATURES), "part-mean", "body.words", values, "body.parts", parts=parts),
        with_axes((WORDS,), "given", "body.weights", weights),
        with_axes((WORDS,), "share", "body.shares", shares, "body.weights", texts=fields.tolist(), pseudocount=rest),
        with_axes((FEATURES,), "weighted-mean", "body.mean", mean, "body.shares", "body.words"),
        with_axes((CLASSES, FEATURES), "weight", "body.head", head),
        matrix("weight", "body.bias", reader.bias),
        matrix("linear-with-bias", "body.scores", head @ mean + reader.bias, "body.mean", "body.head", "body.bias"),
    ]
    names = {WORDS: tuple(word.name for word in words), PARTS: tuple(part for word in words for part in word.parts)}
    return names, steps


def _read(reader: BodyReader, text: str, inputs: Inputs | None) -> Iterator[_Word]:
    for word in words_of(text):
        if (field := field_of(word)) < 0:  # the value of a column, which the body does not read
            continue
        plain, (shown, where) = word[field:], named(word, inputs)
        number, pieces = reader.index.get(plain), reader.pieces_of(plain)
        if number is not None:
            parts, values, weight = (plain,), reader.values[[number]], float(reader.weights[number])
        else:
            parts, values = tuple(reader.pieces[piece] for piece in pieces), reader.piece_values[pieces]
            weight = float(len(pieces) > 0)
        how = None if number is not None else counted(len(pieces), "piece") if len(pieces) else "unknown"
        notes = ", ".join(filter(None, (how, where)))
        yield _Word(f"{shown} ({notes})" if notes else shown, min(field, len(reader.head) - 1), parts, values, weight)
