"""Counts of n-grams as sparse matrices, to fit a counting reader and to compare texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from scipy import sparse

from glassformer.counting.reader import CountingReader, Counts, FloatArray, count, of_length_1, tfidf_values


def count_matrix(counted: Iterable[Counter[str]], index: Mapping[str, int]) -> sparse.csr_matrix:
    """Return the counts (texts, ngrams) of the n-grams that `index` numbers (see `count`)."""
    counts = count(counted, index)
    return sparse.csr_matrix((counts.counts, counts.ngrams, counts.ends), shape=(len(counts.ends) - 1, len(index)))


def tfidf_matrix(counts: sparse.csr_matrix, idf: FloatArray) -> sparse.csr_matrix:
    """Return the TF-IDF values of counts (texts, ngrams). The vector of each text has the length 1."""
    values = counts.copy()
    values.data = tfidf_values(Counts(counts.indices, counts.data, counts.indptr), idf)
    return values


def tfidf_vectors(reader: CountingReader, texts: Sequence[str]) -> sparse.csr_matrix:
    """Return the TF-IDF values of all n-grams of each text, as a vector of length 1: (texts, ngrams).

    The vector of a text without known n-grams is zero.
    """
    parts = []
    for family in reader.families:
        counts = family.counts(texts)
        values = tfidf_values(counts, family.idf)
        parts.append(sparse.csr_matrix((values, counts.ngrams, counts.ends), shape=(len(texts), len(family.ngrams))))
    joined = sparse.csr_matrix(sparse.hstack(parts))
    joined.data = of_length_1(joined.data, joined.indptr)
    return joined
