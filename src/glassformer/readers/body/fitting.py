"""Fit a body reader: a linear head on the mean of the vectors of a text, its penalty chosen by held-out rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from glassformer.data.arrays import FloatArray
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.body.vectors import Body
from glassformer.readers.counting.ngrams import field_of, words_of
from glassformer.readers.reader import FittedReader, Fold, Rows

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The values of C (as scikit-learn has it) that are tried, strongest penalty first, until the held-out loss rises."""
_MANY_OUTPUTS = 20  # beyond, the first fold alone chooses
_SCALES = np.geomspace(0.25, 16, 13)  # of scores: whoever joins readers scales them too
_LEAST_SCALE = 0.005  # of texts whose words are hardly known: their means differ by noise. Of others it is .01 to .05
_STEPS, _TOLERANCE = 100, 1e-5  # of the optimizer


def fit_body(body: Body, rows: Rows, folds: Sequence[Fold]) -> FittedReader[BodyReader]:
    """Fit a reader without the rows of each fold, and then to all rows."""
    began = time.perf_counter()
    texts = 1 if rows.inputs is None else len(rows.inputs.texts)
    known = means_of(body, rows.texts, texts)

    @cache
    def answers(number: int, strength: float) -> FloatArray:
        fold = folds[number]
        return _fitted(known[fold.learned], rows.take(fold.learned), strength).scores(known[fold.held_out])

    trials = range(1 if rows.width > _MANY_OUTPUTS else len(folds))
    held_out = rows.take(np.concatenate([folds[number].held_out for number in trials]))
    strength = _chosen(held_out, lambda strength: np.concatenate([answers(number, strength) for number in trials]))
    scores = np.concatenate([answers(number, strength) for number in range(len(folds))])
    head = _fitted(known, rows, strength)
    return FittedReader(reader=_reader(body, head, texts), held_out=scores, seconds=time.perf_counter() - began)


def means_of(body: Body, texts: Sequence[str], fields: int) -> FloatArray:
    """Return the weighted means of the vectors of the words of each text: (texts, fields · dims).

    Args:
        fields: how many texts a row has. Each has its own mean.
    """
    numbers: dict[str, int] = {}
    places, words = [], []
    for row, text in enumerate(texts):
        for word in words_of(text):
            if (field := field_of(word)) >= 0:
                places.append(row * fields + min(field, fields - 1))
                words.append(numbers.setdefault(word[field:], len(numbers)))
    vectors, weights = body.of_words(list(numbers))
    shape = (len(texts) * fields, len(numbers))
    sums = sparse.csr_matrix((weights[words], (places, words)), shape=shape)
    whole = np.asarray(sums.sum(axis=1))
    means = (sums @ vectors) / np.maximum(whole, np.finfo(np.float32).tiny)
    found: FloatArray = means.astype(np.float32).reshape(len(texts), -1)
    return found


@dataclass(frozen=True, kw_only=True)
class _Head:
    """Scores = means · `weights` + `bias`."""

    weights: FloatArray
    bias: FloatArray

    def scores(self, means: FloatArray) -> FloatArray:
        found: FloatArray = means @ self.weights + self.bias
        return found


def _chosen(held_out: Rows, answers: Callable[[float], FloatArray]) -> float:
    """Return the strength with the smallest loss on held-out rows, given its scores for them."""
    best, least = STRENGTHS[0], np.inf
    truth = torch.from_numpy(held_out.truth)
    for strength in STRENGTHS:
        scores = torch.from_numpy(answers(strength))
        losses = [held_out.weights @ held_out.loss(scores * scale, truth).numpy() for scale in _SCALES]
        if min(losses) >= least:
            break
        best, least = strength, min(losses)
    return best


def _fitted(means: FloatArray, rows: Rows, strength: float) -> _Head:
    """Minimise Σ weight · loss + ‖W‖² / (2 · strength) by L-BFGS. The means are centred, and scaled as a whole."""
    centre = means.mean(axis=0)
    scale = max(float(np.sqrt(np.square(means - centre).mean())), _LEAST_SCALE)
    known = torch.from_numpy((means - centre) / np.float32(scale))
    truth, weigh = torch.from_numpy(rows.truth), torch.from_numpy(rows.weights)
    weights = torch.zeros(known.shape[1], rows.width, requires_grad=True)
    bias = torch.zeros(rows.width, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weights, bias], max_iter=_STEPS, tolerance_grad=_TOLERANCE, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = weigh @ rows.loss(known @ weights + bias, truth) + weights.square().sum() / (2 * strength)
        loss = loss / len(truth)
        loss.backward()
        return loss

    optimizer.step(closure)
    found = weights.detach().numpy().astype(np.float32) / np.float32(scale)
    return _Head(weights=found, bias=bias.detach().numpy() - centre @ found)


def _reader(body: Body, head: _Head, texts: int) -> BodyReader:
    """Return the head as a reader. It holds scores of words where these are smaller than the vectors."""
    by_text = head.weights.reshape(texts, body.dims, -1)
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
    )


def _side_by_side(by_text: FloatArray) -> FloatArray:
    """(texts, dims, width) → (dims, texts · width)"""
    return by_text.transpose(1, 0, 2).reshape(by_text.shape[1], -1)


def _rounded(values: FloatArray) -> FloatArray:
    """Return the numbers as the file will hold them."""
    return np.ascontiguousarray(values.astype(np.float16).astype(np.float32))
