"""Learn a body: count which words stand near each other, and find vectors whose products say so.

The vectors factorise the positive pointwise mutual information of words and their neighbours (Levy, Goldberg & Dagan
2015, §2-3), by a truncated singular value decomposition. That is as good as predicting neighbours by stochastic steps
where it was measured (docs/log.md), takes a fraction of the time, and gives the same vectors every time.

A body can be continued on more texts. Then vectors of these texts alone are turned towards those of the body, and each
word gets the mean of both. The more often the texts hold it, the more they count.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from glassformer import __version__
from glassformer.data.arrays import Array, FloatArray, IntArray, unit
from glassformer.data.checksums import load_arrays, save_arrays
from glassformer.data.documents import Documents
from glassformer.data.wording import counted
from glassformer.errors import UsageError
from glassformer.models.model_config import Seed
from glassformer.readers.body.vectors import Axis, Body, Card, pieces_of
from glassformer.readers.counting.ngrams import words_of

_RARE_SHARE = 1e-4  # words of a larger share count less: the subsampling of Mikolov et al. (2013), §2.3, as expected
_SMOOTHED = 0.75  # the power of a neighbour's count (Levy et al. 2015, eq. 3)
_OF_SINGULAR_VALUES = 0.5  # the power of the singular values (Levy et al. 2015, §3.3)
_WORDS_AT_ONCE = 4_000_000
_ROUNDS, _MORE_DIMS = 4, 20  # of the randomised decomposition (Halko et al. 2011)
_END = -1
_WORDS_FILE, _NEAR_FILE = "words.safetensors", "neighbours.safetensors"  # of the work folder
_OF_MATRIX = ("data", "indices", "indptr")
_FEWEST_WORDS_OF_PIECE, _MOST_PIECES = 8, 40_000
_RIDGE, _PIECE_ROUNDS = 0.3, 60
# The vector of a body that is continued counts as much as 10 occurrences of its word, and its share as a million words.
# Few texts cannot tell how frequent a word is: their shares are those among a million other words and their own.
_OCCURRENCES, _WORDS = 10, 1_000_000

Progress = Callable[[str], None]


class BodySettings(BaseModel):
    """How a body is learned."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dims: int = Field(default=200, ge=2, le=1_000)
    window: int = Field(default=10, ge=1, le=50)
    """How many words to each side are neighbours. A word d places away counts (window + 1 - d) / window."""
    most_words: int = Field(default=60_000, ge=10, le=1_000_000)
    min_count: int = Field(default=8, ge=1)
    """How often a word must occur."""
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Stream:
    """The words of all texts, one after the other.

    Attributes:
        ids: the number of each word in `words`; -1 at the end of a text, and a number below it for a word left out.
        counts: (words,) how often each occurs.
        read: how many words there are, with those left out.
    """

    ids: Array
    words: tuple[str, ...]
    counts: IntArray
    read: int
    sources: tuple[str, ...]


class _Said(BaseModel):
    """What `Stream` holds besides arrays."""

    words: tuple[str, ...]
    read: int
    sources: tuple[str, ...]


def learn_body(
    name: str,
    sources: Iterable[Documents],
    settings: BodySettings,
    progress: Progress,
    *,
    base: Body | None = None,
    axes: tuple[Axis, ...] = (),
    few: bool = False,
    work: Path | None = None,
) -> Body:
    """Learn a body from texts.

    Args:
        base: the body that is continued. It keeps its words, its pieces and its axes.
        axes: along which heads learn faster, without `base`.
        few: whether the texts are too few to tell how frequent a word is, and to fill all dimensions. With `base`, they
            always are.
        work: a folder for the words and neighbours that were counted. What stands there is not counted again.

    Raises:
        UsageError: the texts hold too few words.
    """
    stream = _kept_stream(work) or _keep_stream(work, read_words(sources, settings, progress))
    dims = min(settings.dims, len(stream.words) - 1, settings.dims if base is None else base.dims)
    if dims < 2:
        rarer = ", or rarer words (`min_count=2`)" if settings.min_count > 2 else ""
        raise UsageError(
            f"the texts hold {counted(len(stream.words), 'word that occurs', 'words that occur')} "
            f"{settings.min_count:,} times or more, too few for vectors; give more texts{rarer}"
        )
    near = _kept_neighbours(work, len(stream.words))
    if near is None:
        near = _keep_neighbours(work, neighbours(stream, settings.window, progress))
    progress("finding vectors")
    vectors = factorised(surprise(near), dims, settings.seed, shrink=few or base is not None)
    if base is None:
        progress("finding vectors of pieces of words")
        words, shares = stream.words, (stream.counts / (stream.read + _WORDS * few)).astype(np.float32)
        pieces, piece_vectors = learn_pieces(words, vectors)
    else:
        words, shares, vectors = _continued(base, stream, vectors)
        pieces, piece_vectors = base.pieces, base.piece_vectors
    card = Card(
        name=name,
        base=None if base is None else base.card.name,
        dims=vectors.shape[1],
        **settings.model_dump(include={"window", "min_count", "seed"}),
        sources=stream.sources,
        read=stream.read,
        version=__version__,
        axes=axes if base is None else base.card.axes,
    )
    return Body(words=words, shares=shares, vectors=vectors, pieces=pieces, piece_vectors=piece_vectors, card=card)


def read_words(sources: Iterable[Documents], settings: BodySettings, progress: Progress) -> Stream:
    """Read the words of all texts, and keep the frequent ones."""
    numbers: dict[str, int] = {}
    ids, names = array("i"), []
    for documents in sources:
        names.append(Path(documents.source).name)
        progress(f"reading {names[-1]}, after {len(ids):,} words")
        for text in documents.texts:
            ids.extend([numbers.setdefault(word, len(numbers)) for word in words_of(text)])
            ids.append(_END)
    every = np.frombuffer(ids, np.int32)
    counts = np.bincount(every[every >= 0], minlength=len(numbers))
    order = np.argsort(-counts, kind="stable")[: settings.most_words]
    order = order[counts[order] >= settings.min_count]
    ranks = np.full(len(numbers) + 1, _END - 1, np.int32)
    ranks[order], ranks[_END] = np.arange(len(order)), _END
    spelled = list(numbers)
    return Stream(
        ids=ranks[every],
        words=tuple(spelled[number] for number in order),
        counts=counts[order],
        read=int((every >= 0).sum()),
        sources=tuple(names),
    )


def neighbours(stream: Stream, window: int, progress: Progress) -> sparse.csr_matrix:
    """Return how often words stand near each other, (words, words), nearer ones and rarer ones counting more."""
    size = len(stream.words)
    kept = np.minimum(1, np.sqrt(_RARE_SHARE * stream.read / stream.counts)).astype(np.float32)
    total = sparse.csr_matrix((size, size), dtype=np.float32)
    for first in range(0, len(stream.ids), _WORDS_AT_ONCE):
        progress(f"counting neighbours: {first / len(stream.ids):.0%}")
        total = total + _pairs(stream.ids[first : first + _WORDS_AT_ONCE + window], window, kept)
    return sparse.csr_matrix(total + total.T)


def _pairs(ids: Array, window: int, kept: FloatArray) -> sparse.csr_matrix:
    """Return the weighted counts of pairs whose first word is within the first ids, all but `window` of them."""
    size, firsts, text = len(kept), max(1, min(len(ids), _WORDS_AT_ONCE)), np.cumsum(ids == _END)
    keys, values = [], []
    for distance in range(1, window + 1):
        one, other = ids[:-distance][:firsts], ids[distance:][:firsts]
        near = (one >= 0) & (other >= 0) & (text[:-distance][:firsts] == text[distance:][:firsts])
        one, other = one[near].astype(np.int64), other[near]
        keys.append(one * size + other)
        values.append(kept[one] * kept[other] * np.float32((window + 1 - distance) / window))
    key = np.concatenate(keys)
    return sparse.csr_matrix((np.concatenate(values), (key // size, key % size)), shape=(size, size))


def surprise(near: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the positive pointwise mutual information of words and neighbours."""
    of_word = np.asarray(near.sum(axis=1), np.float64).ravel()
    of_neighbour = of_word**_SMOOTHED
    of_neighbour /= of_neighbour.sum()
    rows = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    information = np.log(near.data / (of_word[rows] * of_neighbour[near.indices]))
    found = sparse.csr_matrix(
        (np.maximum(information, 0).astype(np.float32), near.indices, near.indptr), shape=near.shape
    )
    found.eliminate_zeros()
    return found


def factorised(information: sparse.csr_matrix, dims: int, seed: int, *, shrink: bool = False) -> FloatArray:
    """Return vectors of length 1, (words, dims).

    Args:
        shrink: whether the smallest singular value is subtracted from all: of few texts, the small ones are noise.
    """
    left, values, _ = randomized_svd(information, dims, n_oversamples=_MORE_DIMS, n_iter=_ROUNDS, random_state=seed)
    if shrink:
        values -= values[-1]
    return unit((left * values**_OF_SINGULAR_VALUES).astype(np.float32))


def _continued(base: Body, stream: Stream, vectors: FloatArray) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Return the words of a body and of the texts, the most frequent one first, with their shares and vectors.

    Args:
        vectors: of the texts alone, (words of the texts, dims). They are turned by the rotation that brings them
            nearest to those of the body (Schönemann 1966), words that both know being compared.
    """
    counts = stream.counts.astype(np.float32)
    before, _ = base.of_words(stream.words)
    places = base.numbers_of(stream.words)
    known, size = places >= 0, len(base.words)
    both = (vectors[known] * np.log1p(counts[known])[:, None]).T @ before[known]
    left, _, right = np.linalg.svd(both, full_matrices=False)
    places[~known] = np.arange(size, size + np.count_nonzero(~known))
    new = np.zeros((size + np.count_nonzero(~known), base.dims), np.float32)
    new[:size] = base.vectors
    new[places] = unit(counts[:, None] * (vectors @ (left @ right)) + _OCCURRENCES * before)
    shares = np.zeros(len(new), np.float32)
    shares[:size] = base.shares * _WORDS
    shares[places] += counts
    order = np.argsort(-shares, kind="stable")
    words = [*base.words, *(word for word, each in zip(stream.words, known, strict=True) if not each)]
    shares /= _WORDS + stream.read
    return tuple(words[place] for place in order), shares[order], new[order]


def learn_pieces(words: tuple[str, ...], vectors: FloatArray) -> tuple[tuple[str, ...], FloatArray]:
    """Return pieces of words with vectors (pieces, dims) whose means come near to the vectors of the words.

    They are a ridge regression of the vectors of words on their pieces, found by conjugate gradients.
    """
    made_of = [pieces_of(word) for word in words]
    times: dict[str, int] = {}
    for pieces in made_of:
        for piece in set(pieces):
            times[piece] = times.get(piece, 0) + 1
    often = sorted((piece for piece, n in times.items() if n >= _FEWEST_WORDS_OF_PIECE), key=lambda p: (-times[p], p))
    index = {piece: number for number, piece in enumerate(often[:_MOST_PIECES])}
    known = [[index[piece] for piece in pieces if piece in index] for pieces in made_of]
    ends = np.cumsum([0, *map(len, known)])
    shares = np.repeat(1 / np.maximum(np.diff(ends), 1), np.diff(ends)).astype(np.float32)
    numbers = np.fromiter((number for pieces in known for number in pieces), np.int32, ends[-1])
    means = sparse.csr_matrix((shares, numbers, ends), shape=(len(words), len(index)))
    return tuple(index), _ridge(means, vectors)


def _ridge(matrix: sparse.csr_matrix, targets: FloatArray) -> FloatArray:
    """Return X that minimises ‖matrix X - targets‖² + penalty ‖X‖², each column by conjugate gradients of its own."""
    found = np.zeros((matrix.shape[1], targets.shape[1]), np.float32)
    rest = np.asarray(matrix.T @ targets, np.float32)
    direction, length, tiny = rest.copy(), np.square(rest).sum(axis=0), np.finfo(np.float32).tiny
    for _ in range(_PIECE_ROUNDS):
        ahead = matrix.T @ (matrix @ direction) + _RIDGE * direction
        step = length / np.maximum((direction * ahead).sum(axis=0), tiny)
        found += step * direction
        rest -= step * ahead
        before, length = length, np.square(rest).sum(axis=0)
        direction = rest + length / np.maximum(before, tiny) * direction
    return found


def _keep_stream(work: Path | None, stream: Stream) -> Stream:
    """Write the words of all texts for `_kept_stream`."""
    if work is not None:
        said = {"words": stream.words, "read": stream.read, "sources": stream.sources}
        save_arrays(work / _WORDS_FILE, {"ids": stream.ids, "counts": stream.counts}, said)
    return stream


def _kept_stream(work: Path | None) -> Stream | None:
    kept = None if work is None else load_arrays(work / _WORDS_FILE)
    if kept is None:
        return None
    arrays, said = kept
    try:
        stream = Stream(ids=arrays["ids"], counts=arrays["counts"], **dict(_Said.model_validate(said)))
    except (KeyError, ValidationError):
        return None
    ids, counts, size = stream.ids, stream.counts, len(stream.words)
    are_numbers = ids.dtype == np.int32 and counts.dtype.kind == "i"
    if not are_numbers or ids.ndim != 1 or counts.shape != (size,):
        return None
    return stream if (ids < size).all() and (counts > 0).all() and stream.read >= counts.sum() else None


def _keep_neighbours(work: Path | None, near: sparse.csr_matrix) -> sparse.csr_matrix:
    """Write the neighbours for `_kept_neighbours`. Raises `UsageError` if there are none."""
    if not near.nnz:
        raise UsageError(
            "no two words stand near each other in the texts, so they say nothing about words; give longer texts"
        )
    if work is not None:
        save_arrays(work / _NEAR_FILE, {name: getattr(near, name) for name in _OF_MATRIX})
    return near


def _kept_neighbours(work: Path | None, size: int) -> sparse.csr_matrix | None:
    kept = None if work is None else load_arrays(work / _NEAR_FILE)
    if kept is None:
        return None
    try:
        near = sparse.csr_matrix(tuple(kept[0][name] for name in _OF_MATRIX), shape=(size, size))
        near.check_format()  # numbers of words beyond the last one are read from anywhere
    except (KeyError, TypeError, ValueError):
        return None
    is_whole = near.dtype == np.float32 and near.nnz == len(near.data) > 0
    return near if is_whole and np.isfinite(near.data).all() and near.data.min() > 0 else None
