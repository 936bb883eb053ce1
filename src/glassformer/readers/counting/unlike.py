"""Which texts are unlike the training data: those with many unseen words and word pairs.

Unseen is what fewer than two training texts have.

docs/how-it-works/unlike.md measures this beside other scores. The distance of the transformer's vectors was worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from safetensors.numpy import save_file

from glassformer.data.arrays import BoolArray, FloatArray, read_array
from glassformer.data.tokenizers import batched
from glassformer.errors import GlassformerError
from glassformer.readers.counting.ngrams import END, START, texts_in, words_of

SEEN_FILE = "seen.safetensors"
NOT_KEPT = (
    "this model cannot tell which texts are unlike its training data: it was trained with "
    "`training.keep_seen_words=false`"
)
HashArray = np.ndarray[Any, np.dtype[np.uint32]]

_AT_ONCE = 500  # texts: their hashes take memory
_FACTOR = np.uint32(0x9E3779B1)  # odd, so that the first word of a pair keeps all of its bits
_START, _END = np.uint32(crc32(START.encode())), np.uint32(crc32(END.encode()))


class UnlikeConfig(BaseModel):
    """When a text is called unlike the training data (`unlike` in `config.json`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    threshold: float = Field(ge=0, le=1)
    """The largest unseen share of a text that is not called unlike. About 1 in 100 held-out rows has a larger one."""
    held_out_rows: int = Field(ge=1)
    """The number of rows that the threshold was found by."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """The words and word pairs of the training texts, and the share of unseen ones from which on a text is unlike them.

    A word or pair counts as seen if at least two training texts have it; in sentiment-en, one is enough.

    Attributes:
        hashes: (words and pairs,) in ascending order. See `ngram_hashes`.
    """

    hashes: HashArray
    config: UnlikeConfig

    def unseen_shares(self, texts: Sequence[str]) -> FloatArray:
        """Return the share of the words and word pairs of each text that fewer than two training texts have: (texts,).

        Each occurrence counts. The share of a text without words is 1.
        """
        return unseen_shares(texts, self.hashes)

    def is_unlike(self, shares: FloatArray) -> BoolArray:
        """Return whether texts with these unseen shares are unlike the training data: (texts,)."""
        return shares > np.float32(self.config.threshold)

    def save(self, folder: Path) -> None:
        """Write `seen.safetensors`. `config.json` holds the rest.

        Raises:
            OSError, SafetensorError: the file cannot be written.
        """
        save_file({"hashes": self.hashes}, folder / SEEN_FILE)

    @classmethod
    def load(cls, folder: Path, config: UnlikeConfig) -> Seen:
        """Read the file that `save` wrote.

        Raises:
            GlassformerError: the file is missing or damaged.
        """
        path = folder / SEEN_FILE
        hashes = read_array(path, "hashes")
        if hashes.dtype != np.uint32 or hashes.ndim != 1 or (hashes[1:] <= hashes[:-1]).any():
            raise GlassformerError(f"{path} holds no hashes in ascending order; the file is damaged")
        return cls(hashes=hashes, config=config)


def ngram_hashes(text: str) -> HashArray:
    """Return a hash of 32 bits for each word and each pair of neighbouring words; none if the text has no words.

    The start and the end of a text are words too, but only in pairs. Among a million hashes, one in 4,000 n-grams that
    are not among them has the hash of another.
    """
    cut = words_of(text)
    words = np.fromiter(map(crc32, map(str.encode, cut)), np.uint32, len(cut))
    texts = (words[first : first + len(each)] for first, each in texts_in(cut))
    pairs = [pair_hashes(np.concatenate([[_START], each, [_END]])) for each in texts]
    return np.concatenate([words, *pairs])


def pair_hashes(words: HashArray) -> HashArray:
    """Return the hashes of each word and the one after it, from the hashes of words."""
    with np.errstate(over="ignore"):
        return words[:-1] * _FACTOR + words[1:]


def unseen_shares(texts: Sequence[str], seen: HashArray) -> FloatArray:
    """Return the share of the hashes of each text that are not among the seen ones, in ascending order: (texts,).

    The share of a text without words is 1.
    """
    return np.concatenate([np.zeros(0, np.float32), *(_shares(part, seen) for part in batched(texts, _AT_ONCE))])


def _shares(texts: Sequence[str], seen: HashArray) -> FloatArray:
    found = [ngram_hashes(text) for text in texts]
    hashes, lengths = np.concatenate([seen[:0], *found]), np.array([len(each) for each in found], np.int64)
    places = np.minimum(np.searchsorted(seen, hashes), max(len(seen) - 1, 0))
    unseen = seen[places] != hashes if len(seen) else np.ones(len(hashes))
    counts = np.bincount(np.repeat(np.arange(len(texts)), lengths), unseen, len(texts))
    return np.where(lengths, counts / np.maximum(lengths, 1), 1).astype(np.float32)
