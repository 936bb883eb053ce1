"""Pack documents one after another into windows of one length, without padding, to train a language model.

The stream is `<start> document <start> document … <start>`: a start token also says that the document before it ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import IntArray
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import START_ID


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
        """Return the tokens of one window, (window + 1,)."""
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
