"""How a model answers: its readers, and what their scores mean to its target. Subclasses say how the transformer
computes.

Without PyTorch, which exported models do not need.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Protocol

import numpy as np
from typing_extensions import TypeVar

from glassformer.data.arrays import BoolArray, FloatArray, IntArray
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.prediction.answering_config import TRANSFORMER, AnsweringConfig
from glassformer.readers.counting.reader import CountingReader
from glassformer.readers.counting.unlike import Seen
from glassformer.readers.reader import Reader, checked
from glassformer.targets.answers import Answers, Scores
from glassformer.targets.review import Thresholds

Given = TypeVar("Given", bound=Answers, default=Any)
"""The answers of a model, if it is known what it answers."""


class Answerable(Protocol):
    """A model without its transformer."""

    @property
    def config(self) -> AnsweringConfig: ...
    @property
    def tokenizer(self) -> TextTokenizer: ...
    @property
    def readers(self) -> Mapping[str, Reader]: ...
    @property
    def counting(self) -> CountingReader | None: ...
    @property
    def seen(self) -> Seen | None: ...


class Answering(ABC, Generic[Given]):
    """Answers texts with a trained model."""

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
    def held_out(self) -> Any:
        """The figures of its answers to held-out rows (see `Target.held_out`). None if it does not know them."""

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds that held-out rows give."""
        return self.trained.config.target.thresholds(self.held_out)

    @property
    def notes(self) -> list[str]:
        """Sentences about its answers."""
        config = self.trained.config
        alone = [f"the model answers by {config.asked_in_words} alone"] if config.transformer_is_silent else []
        return [*alone, *config.target.notes(self.held_out)]

    @abstractmethod
    def score(self, rows: list[IntArray], on_progress: Callable[[float], None] | None = None) -> FloatArray:
        """Return the scores (texts, width) of the transformer alone.

        Args:
            rows: the token ids of each text, without the start token.
        """

    @abstractmethod
    def read(self, token_ids: IntArray, attention_mask: BoolArray) -> FloatArray:
        """Return the scores (windows, width) of windows with padding, by the transformer alone.

        Args:
            token_ids: (windows, seq), each with the start token.
            attention_mask: (windows, seq), false for padding.
        """

    def logits(self, texts: Sequence[str]) -> FloatArray:
        """Return the sum (texts, width) of `reader_logits`, not divided by the temperature."""
        return np.sum(list(self.reader_logits(texts).values()), axis=0)

    def reader_logits(
        self, texts: Sequence[str], *, on_progress: Callable[[float], None] | None = None
    ) -> dict[str, Scores]:
        """Return the weighted scores (texts, width) of each reader. They add up to `logits`.

        A reader of weight 0 is not asked: its scores are 0. `on_progress` is called with the share of tokens that the
        transformer has read.
        """
        return self.weighed(self.scores(texts, on_progress=on_progress), len(texts))

    def scores(
        self, texts: Sequence[str], *, on_progress: Callable[[float], None] | None = None
    ) -> dict[str, FloatArray]:
        """Return the scores (texts, width) of each reader that is asked, without its weight."""
        return self._read(texts, self._tokens(texts), on_progress)

    def weighed(self, scores: Mapping[str, FloatArray], rows: int) -> dict[str, Scores]:
        """Return the result of `scores` as that of `reader_logits`. Where one reader decides, the others add 0."""
        target, found = self.trained.config.target, dict[str, Scores]()
        for name, weight in self.trained.config.weights.items():
            if name not in scores:
                found[name] = np.zeros((rows, target.width), target.precision)
                continue
            wide = scores[name].astype(target.precision, copy=False)
            found[name] = wide if weight == 1 else weight * wide
        return target.decided(found)

    def _tokens(self, texts: Sequence[str]) -> list[IntArray]:
        """Return the token ids of each text, or nothing if the transformer is not asked."""
        return [] if self.trained.config.transformer_is_silent else self.trained.tokenizer.encode(texts)

    def _read(
        self, texts: Sequence[str], rows: list[IntArray], on_progress: Callable[[float], None] | None
    ) -> dict[str, FloatArray]:
        return {
            name: self.score(rows, on_progress) if name == TRANSFORMER else self._scores(name, texts)
            for name, weight in self.trained.config.weights.items()
            if weight
        }

    def _scores(self, name: str, texts: Sequence[str]) -> FloatArray:
        target = self.trained.config.target
        return checked(name, self.trained.readers[name].scores(texts), (len(texts), target.width), target.precision)

    def weights_for(self, text: str) -> Mapping[str, float]:
        """Return the weight of each reader in the answer to a text: those of the model, or 0 if another decides."""
        weights = self.trained.config.weights
        given = {name: self._scores(name, [text]) for name, each in self.trained.readers.items() if not each.weighed}
        alone = [name for name, scores in given.items() if self.trained.config.target.decides(scores).any()]
        return {name: weight if name in alone[:1] else 0.0 for name, weight in weights.items()} if alone else weights

    def alone(self, reader: str, texts: Sequence[str]) -> FloatArray:
        """Return the scores (texts, width) of one reader without its weight, also if that is 0."""
        return (
            self.score(self.trained.tokenizer.encode(texts)) if reader == TRANSFORMER else self._scores(reader, texts)
        )

    def unknown_words(self, texts: Sequence[str]) -> Counter[str]:
        """Return the words that are not in the vocabulary, each with the number of texts that it occurs in."""
        return Counter(word for text in texts for word in self.trained.tokenizer.unknown_words(text))

    def answer(
        self,
        texts: Sequence[str],
        *,
        tokens: list[IntArray] | None = None,
        on_progress: Callable[[float], None] | None = None,
        **asked: Any,
    ) -> Given:
        """Return the answers.

        Args:
            tokens: the token ids of each text, if the tokenizer has cut them already.
        """
        rows = self._tokens(texts) if tokens is None else tokens
        # A model whose transformer is silent encodes no rows.
        with_unknown = [text for text, row in zip(texts, rows, strict=False) if UNKNOWN_ID in row]
        scores = self.weighed(self._read(texts, rows, on_progress), len(texts))
        return self.answers_of(texts, scores, find_unknown=partial(self.unknown_words, with_unknown), **asked)

    def answers_of(self, texts: Sequence[str], scores: Mapping[str, Scores], **about: Any) -> Given:
        """Return the answers to texts from the result of `reader_logits`."""
        answers: Any = self.trained.config.target.answers(
            scores,
            self.held_out,
            empty=np.array([not text.strip() for text in texts], dtype=np.bool_),
            texts=texts,
            seen=self.trained.seen,
            **about,
        )
        return answers
