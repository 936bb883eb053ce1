"""Fit a body reader: a linear head on the mean of the vectors of a text, its penalty chosen by held-out rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from glassformer.data.arrays import FloatArray, blocks, gathered
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.body.vectors import PSEUDOCOUNT, Body
from glassformer.readers.counting.corpus import Corpus
from glassformer.readers.counting.ngrams import field_of, words_of
from glassformer.readers.linear import Head, fit_head
from glassformer.readers.reader import FittedReader, Fold, Rows

LEAST_KNOWN = 0.5
"""The share of the words of the texts, rare words counting more, that a body must know to be used by itself. `english`
knows .86 of those of tweets and .96 of those of reviews, and .07 of Vietnamese ones."""
LOOKED_AT = 1_000  # texts are enough to find it


def fit_body(body: Body, rows: Rows, folds: Sequence[Fold]) -> FittedReader[BodyReader]:
    """Fit a reader without the rows of each fold, and then to all rows."""
    began = time.perf_counter()
    texts = 1 if rows.inputs is None else len(rows.inputs.texts)
    known = means_of(body, rows.texts, texts)
    if texts == 1 and len(rows.labels) > 1:
        known, rows, folds = _with_names(body, known, rows, folds)
    head, scores = fit_head(known, rows, folds)
    return FittedReader(reader=_reader(body, head, texts), held_out=scores, seconds=time.perf_counter() - began)


def share_known(body: Body, texts: Sequence[str]) -> float:
    """Return the share of the words of texts that the body knows whole, weighted as in the mean of a text."""
    words = [word[field:] for text in texts for word in words_of(text) if (field := field_of(word)) >= 0]
    numbers = body.numbers_of(words)
    known = float(body.weights[numbers[numbers >= 0]].sum())
    return known / max(known + float((numbers < 0).sum()), 1e-9)


def _with_names(
    body: Body, known: FloatArray, rows: Rows, folds: Sequence[Fold]
) -> tuple[FloatArray, Rows, list[Fold]]:
    """Add the name of each label as a row with this label: its words say what it means (Chang et al. 2008, §3).

    These rows are learned in each fold, and held out in none. A name without known words, or letters, adds nothing.
    """
    vectors = means_of(body, [name.replace("_", " ") for name in rows.labels], 1)
    lengths = np.linalg.norm(vectors, axis=1)
    told = [n for n, name in enumerate(rows.labels) if lengths[n] and any(map(str.isalpha, name))]
    usual = np.median(
        np.concatenate([np.linalg.norm(part, axis=1) for part in blocks(known)])
    )  # that of a word is larger than that of a text
    more = np.arange(len(told)) + len(known)
    truth = (
        np.eye(rows.width, dtype=rows.truth.dtype)[told] if rows.truth.ndim == 2 else np.array(told, rows.truth.dtype)
    )
    longer = replace(
        rows,
        texts=(),  # their means stand for them
        truth=gathered([*blocks(rows.truth), truth]),
        weights=gathered([*blocks(rows.weights), np.ones(len(told), np.float32)]),
    )
    cut = [Fold(learned=gathered([*blocks(fold.learned), more]), held_out=fold.held_out) for fold in folds]
    return gathered([*blocks(known), vectors[told] * (usual / lengths[told])[:, None]]), longer, cut


def means_of(body: Body, texts: Sequence[str], fields: int) -> FloatArray:
    """Return the weighted means of the vectors of the words of each text, stretched: (texts, fields · dims).

    Args:
        fields: how many texts a row has. Each has its own mean.
    """
    corpus, index = Corpus.of(texts), dict[str, int]()
    field = np.array([field_of(name) for name in corpus.names], np.int64)
    plain = (name[of:] if of >= 0 else "" for name, of in zip(corpus.names, field.tolist(), strict=True))
    number = np.array([index.setdefault(name, len(index)) if name else -1 for name in plain], np.int64)
    words = list(index)

    def means(part: Corpus) -> FloatArray:
        is_word = number[part.numbers] >= 0
        rows, numbers = np.repeat(np.arange(len(part)), np.diff(part.ends))[is_word], part.numbers[is_word]
        places = rows * fields + np.minimum(field[numbers], fields - 1)
        here, columns = np.unique(number[numbers], return_inverse=True)
        vectors, weights = body.of_words([words[word] for word in here.tolist()])
        sums = sparse.csr_matrix((weights[columns], (places, columns)), shape=(len(part) * fields, len(here)))
        whole = np.asarray(sums.sum(axis=1))
        found = (sums @ vectors) / (whole + PSEUDOCOUNT)
        found = found if body.stretch is None else found @ body.stretch
        return found.astype(np.float32).reshape(len(part), -1)

    return gathered(map(means, corpus.parts()))


def _reader(body: Body, head: Head, texts: int) -> BodyReader:
    """Return the head as a reader. It holds scores of words where these are smaller than the vectors."""
    by_text = head.weights.reshape(texts, body.dims, -1)
    by_text = by_text if body.stretch is None else body.stretch @ by_text  # for vectors as they are
    values, pieces, width = body.vectors, body.piece_vectors, by_text.shape[2]
    if texts * width < body.dims:
        values, pieces = values @ _side_by_side(by_text), pieces @ _side_by_side(by_text)
        by_text = np.eye(texts * width, dtype=np.float32).reshape(texts * width, texts, width).transpose(1, 0, 2)
    return BodyReader(
        body=body.card.name,
        words=body.words,
        weights=body.weights,
        values=_rounded(values),
        pieces=body.pieces,
        piece_values=_rounded(pieces),
        head=_rounded(by_text),
        bias=head.bias.astype(np.float32),
        pseudocount=PSEUDOCOUNT,
    )


def _side_by_side(by_text: FloatArray) -> FloatArray:
    """(texts, dims, width) → (dims, texts · width)"""
    return by_text.transpose(1, 0, 2).reshape(by_text.shape[1], -1)


def _rounded(values: FloatArray) -> FloatArray:
    """Return the numbers as the file will hold them."""
    return np.ascontiguousarray(values.astype(np.float16).astype(np.float32))
