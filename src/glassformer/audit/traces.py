"""Follow the personal data of the training table into the files of its model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from zlib import crc32

import numpy as np
import polars as pl

from glassformer.audit.columns import Columns
from glassformer.audit.patterns import NAME, capitalised_runs, masked, masked_name, personal_data
from glassformer.audit.result import FileAudit, Found, Traced
from glassformer.data.inputs import BEGIN, SEPARATOR, values_of, without_columns
from glassformer.prediction.model_folder import TrainedModel
from glassformer.readers.counting.ngrams import LONGEST_RUN, words_of
from glassformer.readers.counting.reader import NGRAMS_FILE, CountingReader
from glassformer.readers.counting.unlike import HashArray, pair_hashes

_SOME, _EXAMPLES = 5, 3


def trace(rows: pl.DataFrame, model: TrainedModel) -> tuple[Traced, ...]:
    """Find personal data in training rows, and say for each kind what the folder tells about it.

    Args:
        rows: with the columns `row` and `text`.
    """
    found: dict[str, dict[str, list[int]]] = {}
    columns = Columns(model.config.inputs)
    for row, text in rows.select("row", "text").iter_rows():
        for match in personal_data(columns.without_limits(text)):
            found.setdefault(match.kind, {}).setdefault(match.value, []).append(row)
        in_columns = (name for value in values_of(text) for name in columns.names_in(value))
        for name in (*capitalised_runs(without_columns(text).replace(SEPARATOR, "\n")), *in_columns):
            found.setdefault(NAME, {}).setdefault(name, []).append(row)
    told = _Told(model, columns)
    return tuple(_traced(kind, values, told) for kind, values in found.items())


def _traced(kind: str, values: Mapping[str, list[int]], told: _Told) -> Traced:
    readable = [value for value in values if told.is_readable(value)]
    shown = readable or list(values)
    return Traced(
        kind=kind,
        values=len(values),
        rows=_rows_with(values, list(values))[:_SOME],
        readable=len(readable),
        in_ngrams=sum(map(told.is_in_ngrams, values)),
        readable_rows=_rows_with(values, readable),
        examples=tuple(map(masked_name if kind == NAME else masked, shown[:_EXAMPLES])),
        confirmable=None if told.seen is None else sum(map(told.is_confirmable, values)),
    )


def _rows_with(values: Mapping[str, list[int]], chosen: list[str]) -> tuple[int, ...]:
    return tuple(sorted({row for value in chosen for row in values[value]}))


def word_runs(reader: CountingReader) -> frozenset[str]:
    """Return the runs of words that a counting reader keeps."""
    return frozenset(ngram for each in reader.families if each.family == "words" for ngram in each.ngrams)


def with_names(files: Sequence[FileAudit], traced: Sequence[Traced]) -> tuple[FileAudit, ...]:
    """Add the names of the training texts that the n-grams spell. They are in lower case: only the table knows them."""
    names = next((found for found in traced if found.kind == NAME and found.in_ngrams), None)
    if names is None:
        return tuple(files)
    told = Found(kind=NAME, values=names.in_ngrams, examples=names.examples)
    return tuple(
        file
        if file.name != NGRAMS_FILE or file.found is None
        else file.model_copy(update={"found": (*(found for found in file.found if found.kind != NAME), told)})
        for file in files
    )


def _in_marks(words: Iterable[str], columns: Columns) -> frozenset[str]:
    """Return the personal data in the values of columns, each of which is one word."""
    marks = [word for word in words if BEGIN in word]
    found = [match.value for mark in marks for match in personal_data(mark)]
    found += [name for mark in marks for name in columns.names_in(mark)]
    return frozenset(map(str.lower, found))


class _Told:
    """What the files of a model tell to anyone who reads them."""

    def __init__(self, model: TrainedModel, columns: Columns) -> None:
        self.runs = frozenset() if model.counting is None else word_runs(model.counting)
        self.tokens = frozenset(model.tokenizer.vocabulary())
        self.in_marks_of_runs, self.in_marks_of_tokens = (
            _in_marks(words, columns) for words in (self.runs, self.tokens)
        )
        self.seen: HashArray | None = None if model.seen is None else model.seen.hashes

    def is_readable(self, value: str) -> bool:
        """Whether a value is spelled in the vocabulary, or in runs of words that overlap from its start to its end."""
        words = words_of(value)
        in_tokens = value.lower() in self.in_marks_of_tokens or (len(words) == 1 and words[0] in self.tokens)
        return in_tokens or self.is_in_ngrams(value)

    def is_in_ngrams(self, value: str) -> bool:
        if value.lower() in self.in_marks_of_runs:
            return True
        words = words_of(value)
        length = min(len(words), LONGEST_RUN)
        runs = (" ".join(words[first : first + length]) for first in range(len(words) - length + 1))
        return bool(words) and all(run in self.runs for run in runs)

    def is_confirmable(self, value: str) -> bool:
        """Whether the hashes of all words of a value, and of its pairs of words, are those of seen words."""
        assert self.seen is not None
        if not len(self.seen):
            return False
        words = np.array([crc32(word.encode()) for word in words_of(value)], np.uint32)
        wanted = np.concatenate([words, pair_hashes(words)])
        places = np.minimum(np.searchsorted(self.seen, wanted), len(self.seen) - 1)
        return bool((self.seen[places] == wanted).all())
