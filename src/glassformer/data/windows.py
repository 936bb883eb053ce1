"""Windows over texts, groups of windows of similar length, and their tokens with padding. Without PyTorch.

To train a language model, documents are packed one after another into windows of one length, without padding. The
stream is `<start> document <start> document … <start>`: a start token also says that the document before it ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import Gathered, IntArray, numbers_from, parts_of
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import PAD_ID, START_ID

_BATCHES_PER_POOL = 64


@dataclass(frozen=True, kw_only=True)
class Windows:
    """Pieces of rows: window i holds the `lengths[i]` tokens of row `rows[i]` from `starts[i]` on.

    The start token is not counted.
    """

    rows: IntArray
    starts: IntArray
    lengths: IntArray
    max_seq_len: int


def random_windows(lengths: IntArray, max_seq_len: int, *, seed: int, epoch: int) -> Windows:
    """Choose one window per row. Of a row longer than the model reads, each epoch gets another random window."""
    room = max_seq_len - 1  # the start token takes one place
    chance = np.random.default_rng([seed, epoch, 1])
    starts, kept = Gathered(), Gathered()
    for part in parts_of(len(lengths)):
        of_part = lengths[part]
        starts.add(np.floor(chance.random(len(of_part)) * (np.maximum(of_part - room, 0) + 1)).astype(np.int64))
        kept.add(np.minimum(of_part, room))
    rows = numbers_from(0, len(lengths))
    return Windows(rows=rows, starts=starts.whole(), lengths=kept.whole(), max_seq_len=max_seq_len)


def window_counts(lengths: IntArray, max_seq_len: int) -> IntArray:
    """Return how many windows `covering_windows` chooses of each row."""
    room = max_seq_len - 1
    step = max(1, room - room // 4)
    return 1 + np.maximum(0, -(-(lengths - room) // step))


def covering_windows(lengths: IntArray, max_seq_len: int) -> Windows:
    """Choose evenly spread windows that together cover every token of each row.

    Neighbouring windows share at least a quarter of a window, rounded down.
    """
    room = max_seq_len - 1
    counts = window_counts(lengths, max_seq_len)
    rows = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)  # of each window in its row
    starts = np.round(number * (lengths - room)[rows] / np.maximum(counts[rows] - 1, 1)).astype(np.int64)
    return Windows(rows=rows, starts=starts, lengths=np.minimum(lengths, room)[rows], max_seq_len=max_seq_len)


def bucket(
    lengths: IntArray, *, batch_tokens: int, batch_size: int, seed: int | None = None, epoch: int = 0
) -> list[IntArray]:
    """Group windows of similar length: at most `batch_size` of them, at most `batch_tokens` tokens with padding.

    With a seed, the windows are shuffled and sorted by length within pools of several batches; then the batches are
    shuffled. The order depends on (seed, epoch) alone. Without a seed, all windows are sorted, longest first. A window
    longer than `batch_tokens` forms a batch of its own.

    Returns:
        Indices of windows for each batch.
    """
    if seed is None:
        return _cut(np.argsort(-lengths, kind="stable"), lengths, batch_tokens, batch_size)
    rng = np.random.default_rng([seed, epoch, 0])
    order = _shuffled(len(lengths), rng)
    rows_per_batch = min(batch_size, max(1, int(batch_tokens / (lengths.mean() + 1)))) if len(lengths) else 1
    pool = rows_per_batch * _BATCHES_PER_POOL
    batches: list[IntArray] = []
    for first in range(0, len(order), pool):
        part = order[first : first + pool]
        part[:] = part[np.argsort(-lengths[part], kind="stable")]
        batches += _cut(part, lengths, batch_tokens, batch_size)
    return [batches[i] for i in rng.permutation(len(batches))]


def chunk(n_windows: int, *, batch_size: int, shuffled: tuple[int, int] | None) -> list[IntArray]:
    """Group windows of any length, in their order or shuffled. The shuffle depends on (seed, epoch) alone."""
    if shuffled is None:
        order = numbers_from(0, n_windows)
    else:
        order = _shuffled(n_windows, np.random.default_rng([*shuffled, 2]))
    return [order[first : first + batch_size] for first in range(0, n_windows, batch_size)]


def _shuffled(count: int, rng: np.random.Generator) -> IntArray:
    """Return the numbers from 0 on in a random order. Many lie in a file, and are shuffled there."""
    order = numbers_from(0, count)
    rng.shuffle(order)
    return order


def _cut(order: IntArray, lengths: IntArray, batch_tokens: int, batch_size: int) -> list[IntArray]:
    """Cut windows sorted from long to short into batches. The first window of a batch sets its width."""
    batches, first = [], 0
    while first < len(order):
        width = _width(int(lengths[order[first]]))
        count = max(1, min(batch_size, batch_tokens // width))
        batches.append(order[first : first + count])
        first += count
    return batches


def _width(longest: int) -> int:
    """Return the width for `longest` tokens and the start token, rounded up to one of a few dozen widths.

    On a CPU the matrix library prepares and keeps code for every shape. With hundreds of widths it would prepare more
    code than it reuses.
    """
    step = 16 if longest >= 64 else 4
    return -(-(longest + 1) // step) * step


def padded(store: TokenStore, windows: Windows, chosen: IntArray) -> IntArray:
    """Read the chosen windows, each with the start token, padded on the right to a common width: (chosen, width)."""
    width = min(_width(int(windows.lengths[chosen].max())), windows.max_seq_len)
    token_ids = np.full((len(chosen), width), PAD_ID, dtype=np.int64)
    token_ids[:, 0] = START_ID
    for place, index in enumerate(chosen):
        start, length = store.offsets[windows.rows[index]] + windows.starts[index], windows.lengths[index]
        token_ids[place, 1 : length + 1] = store.tokens[start : start + length]
    return token_ids


class PackedStream:
    """The documents of a store in some order, cut into windows of `window` + 1 tokens.

    Neighbouring windows share one token. It is the last one to predict in the first window, and the first one to read
    in the second. Tokens at the end of the stream that do not fill a window are left out. Nothing is copied until a
    window is read.

    Args:
        order: the numbers of the documents. A number may occur several times.
    """

    def __init__(self, store: TokenStore, order: IntArray, window: int) -> None:
        self._store, self._order, self._window = store, order, window
        self._starts = np.cumsum([0, *(store.lengths[order] + 1)])  # of each document's start token in the stream

    def __len__(self) -> int:
        return int(self._starts[-1]) // self._window

    def window(self, number: int) -> IntArray:
        first = number * self._window
        last = first + self._window + 1
        tokens = np.full(last - first, START_ID, dtype=np.int64)
        place = int(np.searchsorted(self._starts, first, side="right")) - 1
        while place < len(self._order) and self._starts[place] < last:
            begins = int(self._starts[place]) + 1  # of the document's own tokens, in the stream
            ahead = int(self._store.offsets[self._order[place]]) - begins
            low, high = max(first, begins), min(last, int(self._starts[place + 1]))
            if low < high:
                tokens[low - first : high - first] = self._store.tokens[low + ahead : high + ahead]
            place += 1
        return tokens


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """A piece of one document, with the tokens before it as context.

    Attributes:
        tokens: (read + 1,) the tokens to read and the one that follows. The start token stands before and after the
            document.
        fresh: the first position in `tokens` whose next token is predicted in no earlier excerpt.
    """

    tokens: IntArray
    fresh: int


def excerpts(store: TokenStore, window: int) -> Iterator[Excerpt]:
    """Yield pieces that predict each token of each document once, after half a window of context where possible."""
    step = max(1, window // 2)
    for row in range(len(store)):
        own = store.tokens[store.offsets[row] : store.offsets[row + 1]].astype(np.int64)
        tokens = np.concatenate([[START_ID], own, [START_ID]])
        predicted = 0
        while predicted < len(tokens) - 1:
            first = max(0, predicted - (window - step)) if predicted else 0
            last = min(first + window, len(tokens) - 1)
            yield Excerpt(tokens=tokens[first : last + 1], fresh=predicted - first)
            predicted = last
