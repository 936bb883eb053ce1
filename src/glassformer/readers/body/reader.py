"""The body reader: the mean of what each word of a text stands for. `fitting.py` fits it; this file only reads.

It needs NumPy alone, because exported models run where nothing else is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from safetensors.numpy import save_file

from glassformer.data.arrays import Array, FloatArray, IntArray, as_weights, check_is_file, read_arrays
from glassformer.data.json_files import as_record, read_json
from glassformer.errors import GlassformerError
from glassformer.models.model_config import OWN_BODY
from glassformer.readers.body.vectors import MOST_BYTES, Lexicon
from glassformer.readers.counting.ngrams import field_of, words_of
from glassformer.readers.counting.reader import sums_of
from glassformer.readers.reader import Reader

WORDS_FILE, VALUES_FILE = "words.json", "values.safetensors"
_ROWS_AT_ONCE = 1_000
_MOST_WORDS = 30_000  # whose scores are remembered
_MOST_SCORES = 1 << 28  # in memory at once


CONTINUED = ", continued"
"""What older versions wrote behind the name of a body whose vectors were continued."""
Origin = Literal["given", "continued", "own"]
"""The vectors are those of the body that was given, the same continued on texts of the run, or those of these texts
alone."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BodyReader(Lexicon, Reader):
    """A fitted body reader.

    The scores of a text are the bias and the mean of the scores of its words, each with its weight. Of several texts,
    each has such a mean of its own. So what a word adds is known exactly.

    Attributes:
        body: the name of the body that was given, before it was continued. "own" if none was.
        weights: (words,) of the words in the mean of a text. An unknown word with known pieces has the weight 1.
        values: (words, values)
        piece_values: (pieces, values)
        head: (texts, values, width). It turns the values of a word into its scores, in each text of a row.
        bias: (width,)
        pseudocount: the weighted sum of a text is divided by the weights of its words and this number. It is 0 in
            folders of older versions.
    """

    body: str
    weights: FloatArray
    values: FloatArray
    piece_values: FloatArray
    head: FloatArray
    bias: FloatArray
    pseudocount: float = 0.0
    origin: Origin = "given"

    @property
    def texts(self) -> int:
        """How many texts a row has."""
        return len(self.head)

    @property
    def read_in_words(self) -> str:
        """What the words come from."""
        if self.origin == "own":
            return "the texts that it learned from"
        more = " and of the texts that it was continued on" if self.origin == "continued" else ""
        return f"the body `{self.body}`{more}"

    @cached_property
    def _scores(self) -> FloatArray:
        """(words, width) of the most frequent words, as many as memory holds, in the first text of a row."""
        return self.values[: _MOST_SCORES // len(self.bias)] @ self.head[0]

    @cached_property
    def _rare(self) -> Callable[[str], tuple[int, float, FloatArray | float]]:
        most = min(_MOST_WORDS, _MOST_SCORES // len(self.bias))
        return lru_cache(most)(self._looked_up)  # many words occur in many texts

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: a pickle or copy holds nothing that follows from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def scores(self, texts: Sequence[str]) -> FloatArray:
        """Return the scores (texts, width). Those of a text without known words are the bias."""
        parts = [self._scores_of(texts[first : first + _ROWS_AT_ONCE]) for first in range(0, len(texts), _ROWS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.bias)), np.float32)

    def shifted(self, by: FloatArray) -> BodyReader:
        return replace(self, bias=self.bias + by)

    def _scores_of(self, texts: Sequence[str]) -> FloatArray:
        words = [words_of(text) for text in texts]
        ends = np.cumsum([0, *map(len, words)])
        shares = self.of_words(list(chain.from_iterable(words)), ends)
        return sums_of(ends, shares) + self.bias

    def of_words(self, words: Sequence[str], ends: IntArray | None = None) -> FloatArray:
        """Return what each word adds to the scores of its text: (words, width).

        Args:
            ends: text i has the words `ends[i]:ends[i + 1]`. None: all are of one text.
        """
        bounds = np.array([0, len(words)]) if ends is None else ends
        known = self.numbers_of(words)
        found, fields = (known >= 0) & (known < len(self._scores)), np.zeros(len(words), np.int64)
        weights, scores = self.weights[known * found], self._scores[known * found]
        for place in np.flatnonzero(~found).tolist():
            fields[place], weights[place], scores[place] = self._rare(words[place])
        mean = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)) * len(self.head) + fields
        whole = np.bincount(mean, weights, minlength=(len(bounds) - 1) * len(self.head))
        shares = weights / np.maximum(whole + self.pseudocount, np.finfo(np.float32).tiny)[mean]
        return (scores * shares[:, None]).astype(np.float32)

    def _looked_up(self, word: str) -> tuple[int, float, FloatArray | float]:
        """Return the text, the weight and the scores of a word that is unknown, or not of the first text of a row."""
        field = min(field_of(word), len(self.head) - 1)
        if field < 0:  # the value of a column
            return 0, 0.0, 0.0
        plain = word[field_of(word) :]
        if (number := self.index.get(plain)) is not None:
            return field, float(self.weights[number]), self.values[number] @ self.head[field]
        pieces = self.pieces_of(plain)
        scores = (self.piece_values[pieces] @ self.head[field]).mean(axis=0) if len(pieces) else 0.0
        return field, float(len(pieces) > 0), scores

    def save(self, folder: Path) -> None:
        """Write `words.json` and `values.safetensors`.

        Raises:
            OSError, SafetensorError: the files cannot be written.
        """
        tensors: dict[str, Array] = {
            name: getattr(self, name).astype(np.float16) for name in ("weights", "values", "piece_values", "head")
        }
        save_file(tensors | {"bias": self.bias}, folder / VALUES_FILE)
        described = {name: getattr(self, name) for name in _Described.model_fields}
        (folder / WORDS_FILE).write_text(json.dumps(described, ensure_ascii=False, indent=0), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> BodyReader:
        """Read what `save` wrote.

        Raises:
            GlassformerError: a file is missing or damaged, or the files do not match each other.
        """
        check_is_file(folder / WORDS_FILE)
        described = as_record(_Described, read_json(folder / WORDS_FILE, most=MOST_BYTES), folder / WORDS_FILE)
        file = folder / VALUES_FILE
        tensors = read_arrays(file)
        head = tensors.get("head", np.zeros(()))
        texts, values, width = head.shape if head.ndim == 3 else (0, 0, 0)
        expected: dict[str, tuple[int, ...]] = {
            "weights": (len(described.words),),
            "values": (len(described.words), values),
            "piece_values": (len(described.pieces), values),
            "head": (texts, values, width),
            "bias": (width,),
        }
        if not texts or not described.words or {name: tensor.shape for name, tensor in tensors.items()} != expected:
            raise GlassformerError(f"{file} does not match {WORDS_FILE}; copy the folder again")
        found: dict[str, Any] = as_weights(tensors, file)
        told = _told_by(described.body) if described.origin is None else {}
        return cls(**dict(described) | told, **found)


class _Described(BaseModel):
    """The contents of `words.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body: str
    words: tuple[str, ...]
    pieces: tuple[str, ...]
    pseudocount: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    origin: Origin | None = None  # in folders of older versions


def _told_by(name: str) -> dict[str, str]:
    """Return the body and its origin, which older versions wrote in the name alone."""
    body = name.removesuffix(CONTINUED)
    return {"body": body, "origin": "own" if body == OWN_BODY else "given" if body == name else "continued"}
