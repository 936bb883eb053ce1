"""Counts of n-grams as sparse matrices, to fit a counting reader and to compare texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse

from glassformer.data.arrays import Array, FloatArray, Gathered, blocks, gathered, parts_of
from glassformer.readers.counting.ngrams import words_of
from glassformer.readers.counting.reader import CountingReader, Counts, of_length_1, tfidf_values


def joined_rows(parts: Iterable[sparse.csr_matrix]) -> sparse.csr_matrix:
    """Return parts of a matrix one below another. Their memory is freed on the way, which `vstack` cannot do."""
    values, columns, ends, before = Gathered(), Gathered(), Gathered(), 0
    ends.add(np.zeros(1, np.int64))
    for part in parts:
        values.add(part.data)
        columns.add(part.indices)
        ends.add(before + part.indptr[1:].astype(np.int64))
        before, width = before + part.nnz, part.shape[1]
    inside, bounds = columns.whole(), ends.whole()
    if before <= np.iinfo(inside.dtype).max:  # SciPy takes both as they lie if they have one type
        bounds = gathered(bounds[part].astype(inside.dtype) for part in parts_of(len(bounds)))
    return sparse.csr_matrix((values.whole(), inside, bounds), shape=(len(bounds) - 1, width))


def rows_of(values: sparse.csr_matrix, part: slice) -> sparse.csr_matrix:
    """Return some rows of values (rows, columns). `values[part]` would copy them."""
    ends = values.indptr[part.start : part.stop + 1]
    inside = slice(ends[0], ends[-1])
    return sparse.csr_matrix(
        (values.data[inside], values.indices[inside], ends - ends[0]), shape=(len(ends) - 1, values.shape[1])
    )


def texts_with(matrix: sparse.csr_matrix, rows: Array) -> Array:
    """Return in how many of these rows each n-gram occurs."""
    total = np.zeros(matrix.shape[1], np.int64)
    for block in blocks(rows):
        total += np.bincount(matrix[block].indices, minlength=matrix.shape[1])
    return total


def tfidf_matrix(counts: sparse.csr_matrix, idf: FloatArray) -> sparse.csr_matrix:
    """Return the TF-IDF values of counts (texts, ngrams). The vector of each text has the length 1."""
    values = counts.copy()
    values.data = tfidf_values(Counts(counts.indices, counts.data, counts.indptr), idf)
    return values


def tfidf_vectors(reader: CountingReader, texts: Sequence[str]) -> sparse.csr_matrix:
    """Return the TF-IDF values of all n-grams of each text, as a vector of length 1: (texts, ngrams).

    The vector of a text without known n-grams is zero.
    """
    parts, words = [], [words_of(text) for text in texts]
    for family in reader.families:
        counts = family.counts(words)
        values = tfidf_values(counts, family.idf)
        parts.append(sparse.csr_matrix((values, counts.ngrams, counts.ends), shape=(len(texts), len(family.ngrams))))
    joined = sparse.csr_matrix(sparse.hstack(parts))
    joined.data = of_length_1(joined.data, joined.indptr)
    return joined
