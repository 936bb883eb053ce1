"""The counting reader: adds up a weight for each n-gram of a text. `fitting.py` fits it; this file only reads.

It needs NumPy alone, because exported models run where nothing else is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict
from safetensors.numpy import save_file

from glassformer.data.arrays import Array, FloatArray, IntArray, as_weights, check_is_file, read_arrays
from glassformer.data.json_files import as_record, read_json
from glassformer.errors import GlassformerError
from glassformer.readers.counting.known import Found, Texts, finder
from glassformer.readers.counting.ngrams import Family, words_of
from glassformer.readers.reader import Reader

NGRAMS_FILE, WEIGHTS_FILE = "counting.json", "counting.safetensors"
_ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class NgramWeights:
    """The n-grams of one family and their weights.

    An n-gram that occurs c times in a text has the value (1 + ln c) · idf, divided by the length of the vector of all
    these values (sublinear TF-IDF: Manning et al. 2008, §6.4.1). It adds value · `tfidf` to the logits. It
    also adds `presence`, however often it occurs.

    Attributes:
        ngrams: the n-grams, in the order of the rows below.
        idf: (ngrams,) the inverse document frequencies.
        tfidf, presence: (ngrams, outputs) weights. None if the reader does not have them.
    """

    family: Family
    ngrams: tuple[str, ...]
    idf: FloatArray
    tfidf: FloatArray | None = None
    presence: FloatArray | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: a pickle or copy holds no remembered words, whose function cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def of_one_among(self, words: int) -> FloatArray:
        """Return about what a word that is new to a text of so many words adds to the outputs: (ngrams, outputs).

        Its value is that in a text whose words are all as rare as it is.
        """
        total = np.zeros((len(self.ngrams), self._outputs), np.float32)
        if self.tfidf is not None:
            total += self.tfidf / np.float32(np.sqrt(max(1, words)))
        if self.presence is not None:
            total += self.presence
        return total

    def counts(self, texts: Texts) -> Counts:
        """Count the n-grams of each text, which is given as its words."""
        rows = np.repeat(np.arange(len(texts)), list(map(len, texts)))
        found = self.find(texts)
        return count(found.ngrams, rows[found.first], len(texts))

    @cached_property
    def find(self) -> Callable[[Texts], Found]:
        """Find the n-grams in texts. (It holds no reader: a replaced one would stay in the memory of a server.)"""
        return finder(self.family, self.ngrams)

    def terms(self, counts: Counts) -> FloatArray:
        """Return what each counted n-gram adds to the outputs of its text: (n-grams, outputs)."""
        total = np.zeros((len(counts.ngrams), self._outputs), np.float32)
        if self.tfidf is not None:
            total += tfidf_values(counts, self.idf)[:, None] * self.tfidf[counts.ngrams]
        if self.presence is not None:
            total += self.presence[counts.ngrams]
        return total

    @property
    def _outputs(self) -> int:
        weights = self.tfidf if self.tfidf is not None else self.presence
        return 0 if weights is None else weights.shape[1]

    def outputs(self, texts: Texts) -> FloatArray:
        """Return what the n-grams of each text, given as its words, add up to: (texts, outputs)."""
        counts = self.counts(texts)
        return sums_of(counts.ends, self.terms(counts))


@dataclass(frozen=True, kw_only=True, eq=False)
class CountingReader(Reader):
    """A fitted counting reader.

    Attributes:
        families: the n-grams with their weights. With two classes and one label per text there is one output, which is
            the logit of class 1 minus that of class 0. Otherwise there is an output per class.
        bias: (outputs,)
        settings: how the reader was fitted, for people.
    """

    families: tuple[NgramWeights, ...]
    bias: FloatArray
    n_classes: int
    settings: Mapping[str, Any]

    def scores(self, texts: Sequence[str]) -> FloatArray:
        """Return the logits (texts, n_classes). Of a text without known n-grams they are the bias."""
        parts = [self._outputs(texts[start : start + _ROWS_AT_ONCE]) for start in range(0, len(texts), _ROWS_AT_ONCE)]
        outputs = np.concatenate(parts) if parts else np.zeros((0, len(self.bias)), np.float32)
        return spread(outputs, self.n_classes)

    def shifted(self, by: FloatArray) -> CountingReader:
        return replace(self, bias=self.bias + (by if len(self.bias) == self.n_classes else by[1:] - by[:1]))

    def _outputs(self, texts: Sequence[str]) -> FloatArray:
        bias = np.tile(self.bias, (len(texts), 1))
        words = [words_of(text) for text in texts]
        return sum((family.outputs(words) for family in self.families), start=bias)

    def save(self, folder: Path) -> None:
        """Write `counting.json`, which holds the n-grams, and `counting.safetensors`, which holds their weights.

        Raises:
            OSError, SafetensorError: the files cannot be written.
        """
        tensors: dict[str, Array] = {"bias": self.bias}
        for family in self.families:
            for name in ("idf", "tfidf", "presence"):
                if (values := getattr(family, name)) is not None:
                    tensors[f"{family.family}.{name}"] = values.astype(np.float16)
        save_file(tensors, folder / WEIGHTS_FILE)
        described = {
            "n_classes": self.n_classes,
            "settings": dict(self.settings),
            "ngrams": {family.family: family.ngrams for family in self.families},
        }
        (folder / NGRAMS_FILE).write_text(json.dumps(described, ensure_ascii=False, indent=0), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> CountingReader:
        """Read the files that `save` wrote.

        Raises:
            GlassformerError: a file is missing or damaged, or the files do not match each other.
        """
        described = _described(folder / NGRAMS_FILE)
        weights = folder / WEIGHTS_FILE
        tensors = read_arrays(weights)
        single = described.n_classes <= 2 and tensors.get("bias", np.zeros(0)).shape == (1,)
        outputs = 1 if single else described.n_classes
        expected: dict[str, tuple[int, ...]] = {"bias": (outputs,)}
        for family, ngrams in described.ngrams.items():
            expected[f"{family}.idf"] = (len(ngrams),)
            for name in (f"{family}.tfidf", f"{family}.presence"):
                if name in tensors:
                    expected[name] = (len(ngrams), outputs)
        found = {name: tensor.shape for name, tensor in tensors.items()}
        if found != expected:
            raise GlassformerError(f"{weights} does not match {NGRAMS_FILE}; copy the folder again")
        wide = as_weights(tensors, weights)
        return cls(
            families=tuple(
                NgramWeights(
                    family=family,
                    ngrams=ngrams,
                    idf=wide[f"{family}.idf"],
                    tfidf=wide.get(f"{family}.tfidf"),
                    presence=wide.get(f"{family}.presence"),
                )
                for family, ngrams in described.ngrams.items()
            ),
            bias=wide["bias"],
            n_classes=described.n_classes,
            settings=described.settings,
        )


class WithReaders:
    """Gives the counting reader of an object with readers, if it has one."""

    readers: Mapping[str, Reader]

    @property
    def counting(self) -> CountingReader | None:
        found = self.readers.get("counting")
        return found if isinstance(found, CountingReader) else None


class _Described(BaseModel):
    """The contents of `counting.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_classes: int
    settings: dict[str, Any]
    ngrams: dict[Family, tuple[str, ...]]


def _described(path: Path) -> _Described:
    check_is_file(path)
    described = as_record(_Described, read_json(path), path)
    if any(len(set(ngrams)) < len(ngrams) for ngrams in described.ngrams.values()):
        raise GlassformerError(f"{path} holds an n-gram twice; the file is damaged")
    return described


def n_outputs(n_classes: int, *, multilabel: bool) -> int:
    """Return the number of outputs of a reader. With two classes and one label per text there is one."""
    return 1 if n_classes == 2 and not multilabel else n_classes


def spread(outputs: FloatArray, n_classes: int) -> FloatArray:
    """Return logits (texts, n_classes). A single output o of two classes becomes the logits −o/2 and o/2."""
    if outputs.shape[1] == n_classes:
        return outputs
    half = (outputs / 2).astype(np.float32)
    return np.concatenate([-half, half], axis=1)


class Counts(NamedTuple):
    """How often n-grams occur in texts. Text i has the n-grams `ngrams[ends[i]:ends[i + 1]]`, in ascending order.

    Attributes:
        ngrams: their numbers.
        counts: how often each occurs in its text, in float32.
        ends: (texts + 1,), from 0 on.
    """

    ngrams: Array
    counts: Array
    ends: Array


def count(ngrams: Array, rows: IntArray, texts: int) -> Counts:
    """Count the numbers of n-grams in each of so many texts, given the text of each."""
    most = int(ngrams.max(initial=0)) + 1
    codes = rows * most + ngrams
    # Sums of floats then do not depend on the order of the words. A stable sort uses that the rows are nearly in order.
    codes.sort(kind="stable")
    begins = np.ones(len(codes) + 1, np.bool_)
    np.not_equal(codes[1:], codes[:-1], out=begins[1:-1])
    bounds = np.flatnonzero(begins)
    found = codes[bounds[:-1]]
    ends = np.searchsorted(found, np.arange(texts + 1) * most)
    return Counts(
        ngrams=(found - _rows(ends) * most).astype(np.int32),
        counts=(bounds[1:] - bounds[:-1]).astype(np.float32),
        ends=ends,
    )


def tfidf_values(counts: Counts, idf: FloatArray) -> FloatArray:
    """Return the values of `NgramWeights` for the n-grams of each text. The vector of each text has the length 1."""
    return of_length_1((1 + np.log(counts.counts)) * idf[counts.ngrams], counts.ends)


def of_length_1(values: FloatArray, ends: Array) -> FloatArray:
    """Divide the values of each text by the length of their vector."""
    rows = _rows(ends)
    squares = np.bincount(rows, values.astype(np.float64) ** 2, minlength=len(ends) - 1)
    lengths = np.sqrt(np.maximum(squares, np.finfo(np.float32).tiny)).astype(np.float32)
    return values / lengths[rows]


def _rows(ends: Array) -> Array:
    """Return the number of the text of each n-gram."""
    return np.repeat(np.arange(len(ends) - 1), ends[1:] - ends[:-1])


def sums_of(ends: Array, terms: FloatArray) -> FloatArray:
    """Add up the terms (n-grams, outputs) of each text: (texts, outputs)."""
    total = np.zeros((len(ends) - 1, terms.shape[1]), np.float32)
    filled = np.flatnonzero(ends[1:] != ends[:-1])
    if len(filled):
        total[filled] = np.add.reduceat(terms, ends[filled], axis=0)
    return total
