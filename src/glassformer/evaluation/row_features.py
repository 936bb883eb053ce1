"""The features of rows for a linear baseline: TF-IDF of each text of a row, and a one for the value of each column."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from glassformer.data.inputs import SEPARATOR, values_of, without_columns

FitWords = Callable[[Sequence[str]], tuple[TfidfVectorizer, csr_matrix]]


class RowFeatures:
    """Learns the words and values of rows (see `data/inputs.py`). A plain text is a row of one text.

    Attributes:
        words: the vectorizer of each text that is not blank in all rows.
        matrix: the features of the rows that were learned.
    """

    def __init__(self, rows: Sequence[str], fit_words: FitWords) -> None:
        """Learn from rows.

        Args:
            fit_words: fits a vectorizer to texts, and returns it with their features.
        """
        self._texts = 1 + max((row.count(SEPARATOR) for row in rows), default=0)
        fields = self._fields(rows)
        self._filled = [number for number, texts in enumerate(fields) if len(fields) == 1 or any(map(str.strip, texts))]
        fitted = [fit_words(fields[number]) for number in self._filled]
        self.words = [vectorizer for vectorizer, _ in fitted]
        matrices = [matrix for _, matrix in fitted]
        values = [values_of(row) for row in rows]
        self._values = CountVectorizer(analyzer=list, binary=True, dtype=np.float32) if any(values) else None
        if self._values is not None:
            matrices.append(self._values.fit_transform(values))
        self.matrix = _joined(matrices)

    def of(self, rows: Sequence[str]) -> csr_matrix:
        fields = self._fields(rows)
        matrices = [words.transform(fields[number]) for words, number in zip(self.words, self._filled, strict=True)]
        if self._values is not None:
            matrices.append(self._values.transform([values_of(row) for row in rows]))
        return _joined(matrices)

    @property
    def size_bytes(self) -> int:
        """The size in bytes: the names of all features as UTF-8, idf as float32."""
        names = [name for vectorizer in self.words for name in vectorizer.vocabulary_]
        names += [] if self._values is None else list(self._values.vocabulary_)
        return sum(len(name.encode()) for name in names) + 4 * sum(len(each.idf_) for each in self.words)

    def _fields(self, rows: Sequence[str]) -> list[list[str]]:
        """Return the texts of each row, by their number."""
        texts = [without_columns(row).split(SEPARATOR) for row in rows]
        return [[each[number] if number < len(each) else "" for each in texts] for number in range(self._texts)]


def _joined(matrices: Sequence[Any]) -> csr_matrix:
    return matrices[0] if len(matrices) == 1 else hstack(matrices, format="csr")
