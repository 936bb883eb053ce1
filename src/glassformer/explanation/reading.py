"""How the transformer reads the tokens of a text, and the margin that it gives them.

With NumPy alone: an exported model can be read in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.data.arrays import BoolArray, DoubleArray, FloatArray, IntArray
from glassformer.data.tokenizers import START_ID, UNKNOWN_ID
from glassformer.data.windows import covering_windows
from glassformer.explanation.pauses import pause
from glassformer.explanation.words import NO_WORD

Logits = Callable[[IntArray, BoolArray], FloatArray]
"""Returns the logits (rows, n_classes) of token ids (rows, seq) and a mask of the same shape."""

TOKENS_AT_ONCE = 2_048
"""The activations of a layer then fit into the cache of a CPU."""


@dataclass(frozen=True, kw_only=True)
class TokenReading:
    """A transformer that reads the tokens of one text, and the margin that is asked about.

    Attributes:
        model: the module of PyTorch. None for an exported model, which has no gradients and no heads to look into.
        ids: (tokens,) without the start token.
        groups: (tokens,) the number of the word of each token. Occlusion hides the tokens of a word together.
        direction: (width,) the margin is `scores @ direction`.
        separator: the token between two texts of a row, which is never hidden. None if it reads one text.
    """

    read: Logits
    model: Any
    ids: IntArray
    groups: IntArray
    direction: DoubleArray
    max_seq_len: int
    separator: int | None = None
    least: float = 1.0

    @property
    def windows(self) -> tuple[IntArray, IntArray]:
        """Return the windows (windows, seq), each with the start token, and the first token of each.

        All are equally long.
        """
        cut = covering_windows(np.array([len(self.ids)]), self.max_seq_len)
        rows = [np.concatenate([[START_ID], self.ids[start : start + cut.lengths[0]]]) for start in cut.starts]
        return np.stack(rows).astype(np.int64), cut.starts

    def margins(self, token_ids: IntArray) -> DoubleArray:
        """Return the margin of each row of token ids (rows, seq): (rows,)."""
        logits = self.read(token_ids, np.ones(token_ids.shape, np.bool_))
        return logits.astype(np.float64) @ self.direction

    def margins_of(self, rows: Sequence[IntArray]) -> DoubleArray:
        """Return the margin of each row. Rows may differ in length; equally long ones are read together."""
        found = np.zeros(len(rows))
        by_length: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            by_length.setdefault(len(row), []).append(number)
        for length, numbers in by_length.items():
            size = max(1, TOKENS_AT_ONCE // length)
            for first in range(0, len(numbers), size):
                pause()
                part = numbers[first : first + size]
                found[part] = self.margins(np.stack([rows[number] for number in part]))
        return found

    @property
    def margin(self) -> float:
        """The margin of the text: the mean over its windows."""
        return float(self.margins_of(list(self.windows[0])).mean())

    @property
    def margin_of_nothing(self) -> float:
        """The margin of the text if all of its words were unknown."""
        return float(self.margins_of(list(self.hidden(self.windows[0]))).mean())

    def hidden(self, token_ids: IntArray) -> IntArray:
        """Return the same rows with unknown tokens for all but the first token and separators."""
        found = np.full_like(token_ids, UNKNOWN_ID)
        found[:, 0] = token_ids[:, 0]
        return found if self.separator is None else np.where(token_ids == self.separator, token_ids, found)

    def spread(self, values: DoubleArray) -> DoubleArray:
        """Return the mean over all windows of the values of each token, 0 in windows without it: (tokens,).

        Args:
            values: (windows, length) of the tokens of each window, without the start token.
        """
        total = np.zeros(len(self.ids))
        for start, row in zip(self.windows[1], values, strict=True):
            total[start : start + len(row)] += row
        return total / len(values)


def of_words(reading: TokenReading, of_tokens: DoubleArray, n_words: int) -> DoubleArray:
    """Add up the values of the tokens of each word: (n_words,)."""
    total = np.zeros(n_words)
    in_word = reading.groups != NO_WORD
    np.add.at(total, reading.groups[in_word], of_tokens[in_word])
    return total
