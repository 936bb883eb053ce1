"""How a classifier answers: both readers, their sum, the temperature. Subclasses say how the transformer computes.

Without PyTorch, which exported models do not need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from glassformer.counting.reader import CountingReader
from glassformer.data.arrays import BoolArray, FloatArray, IntArray
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.errors import UsageError
from glassformer.prediction.answering_config import AnsweringConfig
from glassformer.prediction.answers import Answers, Reader
from glassformer.prediction.held_out_answers import HeldOutAnswers
from glassformer.prediction.probabilities import probabilities
from glassformer.prediction.review import Thresholds
from glassformer.prediction.unlike import Seen


class Answerable(Protocol):
    """A classifier without its transformer."""

    @property
    def config(self) -> AnsweringConfig: ...
    @property
    def tokenizer(self) -> TextTokenizer: ...
    @property
    def counting(self) -> CountingReader | None: ...
    @property
    def seen(self) -> Seen | None: ...


class Answering(ABC):
    """Answers texts with a trained classifier."""

    trained: Answerable

    @property
    @abstractmethod
    def max_seq_len(self) -> int:
        """The most tokens that the transformer reads at once, with the start token."""

    @property
    @abstractmethod
    def text_column(self) -> str | None:
        """The column of the training table that the texts came from. None if they came from memory."""

    @property
    @abstractmethod
    def held_out_answers(self) -> HeldOutAnswers | None:
        """The figures of its answers to held-out rows. None if it does not know them."""

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds that held-out rows give.

        Raises:
            UsageError: the model does not know them.
        """
        known = self.held_out_answers
        if known is None or known.thresholds is None:
            raise UsageError(
                "this model does not know how sure it was of held-out rows: it was made by an older glassformer, or "
                "without held-out rows; train it again with held-out rows"
            )
        return known.thresholds

    @abstractmethod
    def score(self, rows: list[IntArray], on_progress: Callable[[float], None] | None = None) -> FloatArray:
        """Return the logits (texts, n_classes) of the transformer alone.

        Args:
            rows: the token ids of each text, without the start token.
            on_progress: called with the share of tokens that are read.
        """

    @abstractmethod
    def read(self, token_ids: IntArray, attention_mask: BoolArray) -> FloatArray:
        """Return the logits (windows, n_classes) of windows with padding, by the transformer alone.

        Args:
            token_ids: (windows, seq), each with the start token.
            attention_mask: (windows, seq), false for padding.
        """

    def logits(self, texts: Sequence[str]) -> FloatArray:
        """Return the logits (texts, n_classes), not divided by the temperature."""
        return _total(self.reader_logits(texts))

    def reader_logits(
        self, texts: Sequence[str], *, on_progress: Callable[[float], None] | None = None
    ) -> dict[Reader, FloatArray]:
        """Return the weighted logits (texts, n_classes) of each reader. They add up to `logits`.

        A reader of weight 0 is not asked: its logits are 0. `on_progress` is called with the share of tokens that the
        transformer has read.
        """
        return self._read(texts, self._tokens(texts), on_progress)

    def _tokens(self, texts: Sequence[str]) -> list[IntArray]:
        """Return the token ids of each text, or nothing if the transformer is not asked."""
        return [] if self.trained.config.answers_by_counting else self.trained.tokenizer.encode(texts)

    def _read(
        self, texts: Sequence[str], rows: list[IntArray], on_progress: Callable[[float], None] | None
    ) -> dict[Reader, FloatArray]:
        readers, counting = self.trained.config.readers, self.trained.counting
        if readers is None or counting is None:
            return {"transformer": self.score(rows, on_progress)}
        counted = readers.counting.weight * counting.logits(texts)
        weight = readers.transformer.weight
        return {
            "counting": counted,
            "transformer": weight * self.score(rows, on_progress) if weight else np.zeros_like(counted),
        }

    def transformer_logits(self, texts: Sequence[str]) -> FloatArray:
        """Return the logits (texts, n_classes) of the transformer alone, also of one with the weight 0."""
        return self.score(self.trained.tokenizer.encode(texts))

    def unknown_words(self, texts: Sequence[str]) -> Counter[str]:
        """Return the words that are not in the vocabulary, each with the number of texts that it occurs in."""
        return Counter(word for text in texts for word in self.trained.tokenizer.unknown_words(text))

    def answer(
        self,
        texts: Sequence[str],
        *,
        on_progress: Callable[[float], None] | None = None,
        review_below: float | None = None,
    ) -> Answers:
        """Return calibrated probabilities.

        Args:
            on_progress: called with the share of tokens that are done.
            review_below: see `Answers`.
        """
        config = self.trained.config
        rows = self._tokens(texts)
        by_reader = self._read(texts, rows, on_progress)
        probs = probabilities(_total(by_reader), temperature=config.temperature, multilabel=config.multilabel)
        # A model that answers by counting alone encodes no rows.
        with_unknown = [text for text, row in zip(texts, rows, strict=False) if UNKNOWN_ID in row]
        return Answers(
            labels=config.labels,
            multilabel=config.multilabel,
            probs=probs.astype(np.float32),
            readers={name: logits / config.temperature for name, logits in by_reader.items()},
            empty=np.array([not text.strip() for text in texts], dtype=np.bool_),
            texts=texts,
            seen=self.trained.seen,
            find_unknown=partial(self.unknown_words, with_unknown),
            review_below=review_below,
        )


def _total(by_reader: Mapping[Reader, FloatArray]) -> FloatArray:
    """Add up the logits of the readers."""
    total: FloatArray = np.sum(list(by_reader.values()), axis=0)
    return total
