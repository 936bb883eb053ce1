"""Learn the words and word pairs of the training texts, and when a text is called unlike them."""

import math
from collections.abc import Iterable
from zlib import crc32

import numpy as np

from glassformer.data.arrays import FloatArray, Gathered
from glassformer.data.table import Table
from glassformer.readers.counting.corpus import Corpus, distinct, marked
from glassformer.readers.counting.ngrams import END, START
from glassformer.readers.counting.unlike import (
    HashArray,
    Seen,
    UnlikeConfig,
    pair_hashes,
    unseen_shares,
)

_CALLED_UNLIKE = 0.01  # of the held-out rows
_MOST_HELD_OUT = 10_000  # rows that set the threshold
_FEWEST_ROWS = 2  # that have a hash which is kept: one of a single row would tell that this row was learned
_MOST_CHARACTERS = 40_000_000  # of all texts: of longer tables, only some rows are read
MOST_HASHES = 1_000_000  # 4 MB


def learn_seen(train: Table, validation: Table | None, *, most_hashes: int = MOST_HASHES) -> tuple[Seen, FloatArray]:
    """Return the words of the training texts, and the unseen shares of held-out rows.

    Keep the words and word pairs that at least two training rows have, and find the threshold by held-out rows.

    The held-out rows are the validation rows. Without any, each training row is held out by itself, or if rows have
    groups, with its group: what fewer than two other rows or groups have is then unseen.
    """
    frame = train.frame
    step = max(1, -(-int(frame["text"].str.len_chars().sum()) // _MOST_CHARACTERS))
    frame = frame.gather_every(step)
    by_group = validation is None and "group" in frame.columns
    groups = frame["group"].rank("dense").to_numpy().astype(np.uint64) if by_group else None
    hashes, counts = _most_frequent(frame["text"], groups, most_hashes)
    kept = hashes[counts >= _FEWEST_ROWS]
    known, held_out = (hashes[counts > _FEWEST_ROWS], frame) if validation is None else (kept, validation.frame)
    texts = held_out["text"].gather_every(max(1, -(-held_out.height // _MOST_HELD_OUT)))
    shares = unseen_shares(texts.to_list(), known)
    config = UnlikeConfig(threshold=threshold_of(shares), held_out_rows=len(shares))
    return Seen(hashes=kept, config=config), shares


def threshold_of(shares: FloatArray) -> float:
    """Return the share that 1 in 100 new texts exceed, if they are like the held-out ones.

    This is the ⌈0.99 (n + 1)⌉-th smallest of n shares (Vovk et al. 2005, §4.2), or the largest of fewer than 99.
    """
    place = math.ceil((1 - _CALLED_UNLIKE) * (len(shares) + 1))
    return float(np.sort(shares)[min(place, len(shares)) - 1])


def _most_frequent(texts: Iterable[str], groups: np.ndarray | None, most: int) -> tuple[HashArray, np.ndarray]:
    """Return the `most` hashes that most rows have, in ascending order, and the number of rows that have each.

    Args:
        groups: (rows,) a number for each group. All rows of a group are then one row.
    """
    corpus, first, found = Corpus.of(texts), 0, Gathered()
    of_words = np.array([crc32(word.encode()) for word in (START, END, *corpus.names)], np.uint32)
    for part in corpus.parts():
        rows, hashes = _hashes(part, of_words)
        group = rows.astype(np.uint64) if groups is None else groups[first + rows]
        once_in_part = distinct(group << np.uint64(32) | hashes)
        found.add(once_in_part.astype(np.uint32) if groups is None else once_in_part)  # no row is in two parts
        first += len(part)
    once = found.whole()
    once = once if groups is None else distinct(once).astype(np.uint32)  # which leaves out the group
    once.sort()
    begins = np.flatnonzero(np.append(True, once[1:] != once[:-1])[: len(once)])
    hashes, counts = once[begins], np.diff(begins, append=len(once))
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    return hashes[kept], counts[kept]


def _hashes(part: Corpus, of_words: HashArray) -> tuple[np.ndarray, HashArray]:
    """Return the rows and hashes of all words and pairs, as `ngram_hashes` returns those of one text."""
    words, texts, rows = marked(part)
    hashes, inside = of_words[words], texts[1:] == texts[:-1]
    is_word = words > 1
    pairs = pair_hashes(hashes)[inside]
    return np.concatenate([rows[is_word], rows[1:][inside]]), np.concatenate([hashes[is_word], pairs])
