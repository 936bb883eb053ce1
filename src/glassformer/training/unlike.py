"""Learn the words and word pairs of the training texts, and when a text is called unlike them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from glassformer.data.table import Table
from glassformer.prediction.unlike import FloatArray, HashArray, Seen, UnlikeConfig, ngram_hashes, unseen_share

Item = TypeVar("Item")

_CALLED_UNLIKE = 0.01  # of the held-out rows
_MOST_HELD_OUT = 10_000  # rows that set the threshold
_MOST_CHARACTERS = 40_000_000  # of all texts: of longer tables, only some rows are read
_MOST_HASHES = 1_000_000  # 4 MB


def learn_seen(train: Table, validation: Table | None) -> tuple[Seen, FloatArray]:
    """Return the words of the training texts, and the unseen shares of held-out rows.

    Keep the words and word pairs of the training rows, and find the threshold by held-out rows.

    The held-out rows are the validation rows. Without any, each training row is held out by itself, or if rows have
    groups, with its group: what no other row or group has is then unseen.
    """
    frame = train.frame
    texts = frame["text"].to_list()
    step = max(1, -(-sum(map(len, texts)) // _MOST_CHARACTERS))
    rows = list(map(ngram_hashes, texts[::step]))
    if validation is not None:
        hashes, _ = _most_frequent(rows)
        texts, known = validation.frame["text"].to_list(), hashes
        held_out: Sequence[HashArray] = list(map(ngram_hashes, _spread(texts, _MOST_HELD_OUT)))
    else:
        groups = frame["group"].to_list()[::step] if "group" in frame.columns else range(len(rows))
        hashes, counts = _most_frequent(_joined(rows, groups))
        held_out, known = _spread(rows, _MOST_HELD_OUT), hashes[counts > 1]
    shares = np.array([unseen_share(row, known) for row in held_out], np.float32)
    config = UnlikeConfig(threshold=threshold_of(shares), held_out_rows=len(shares))
    return Seen(hashes=hashes, config=config), shares


def threshold_of(shares: FloatArray) -> float:
    """Return the share that 1 in 100 new texts exceed, if they are like the held-out ones.

    This is the ⌈0.99 (n + 1)⌉-th smallest of n shares (Vovk et al. 2005, §4.2), or the largest of fewer than 99.
    """
    place = math.ceil((1 - _CALLED_UNLIKE) * (len(shares) + 1))
    return float(np.sort(shares)[min(place, len(shares)) - 1])


def _most_frequent(rows: Sequence[HashArray]) -> tuple[HashArray, np.ndarray]:
    """Return the hashes that most rows have, in ascending order, and the number of rows that have each."""
    hashes, counts = np.unique(np.concatenate([np.unique(row) for row in rows]), return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_HASHES])
    return hashes[kept], counts[kept]


def _joined(rows: Iterable[HashArray], groups: Iterable[Hashable]) -> list[HashArray]:
    """Return the hashes of each group."""
    together: dict[Hashable, list[HashArray]] = {}
    for row, group in zip(rows, groups, strict=True):
        together.setdefault(group, []).append(row)
    return [np.concatenate(group) for group in together.values()]


def _spread(items: Sequence[Item], most: int) -> Sequence[Item]:
    """Return at most so many items, evenly spread."""
    return items[:: max(1, -(-len(items) // most))]
