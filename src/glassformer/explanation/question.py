"""What is asked about a text, and how the readers answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from glassformer.data.arrays import DoubleArray
from glassformer.data.encodings import half_of_pair
from glassformer.data.input_layout import Layout
from glassformer.data.inputs import is_composed
from glassformer.errors import InputError, brief_value
from glassformer.explanation.asked import Asked, Goal
from glassformer.explanation.exact import CountedShares, RuledShares, counted_shares, ruled_shares
from glassformer.explanation.pauses import pause
from glassformer.explanation.reading import TokenReading
from glassformer.explanation.words import TextInWords
from glassformer.prediction.answering import Answering
from glassformer.readers.rules.reader import RulesReader
from glassformer.targets.answers import Scores


@dataclass(frozen=True, kw_only=True)
class Question:
    """A text, what is asked about its answer, and the scores that the answer follows from: `logits` (1, width)."""

    predictor: Answering
    text: TextInWords
    asked: Asked
    logits: Scores

    @classmethod
    def ask(cls, predictor: Answering, text: str | Mapping[str, Any], **asked: Any) -> Question:
        """Ask why a text gets its answer.

        Args:
            text: a text, or of a model that reads several inputs a row.

        Raises:
            InputError: the text is not a string, cannot be encoded or is empty.
            UsageError: what `Asked.of` raises.
        """
        text = read_text(predictor, text)
        scores = predictor.reader_logits([text])
        target = predictor.trained.config.target
        about = target.part("explanation").of(target, predictor.answers_of([text], scores), **asked)
        logits = np.sum(list(scores.values()), axis=0)
        return cls(predictor=predictor, text=TextInWords.cut(text), asked=about, logits=logits)

    @cached_property
    def layout(self) -> Layout:
        """How the text is shown to people."""
        return Layout.of(self.text.text, self.predictor.trained.config.inputs)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """What a search for a change of words may reach."""
        return self.asked.goals(self.predictor.logits([self.text.text]))

    @property
    def margin(self) -> float:
        return float(self._margins(self.logits)[0])

    def margins(self, texts: Sequence[str]) -> DoubleArray:
        scores = self.predictor.reader_logits(texts, on_progress=lambda _: pause())
        return self._margins(np.sum(list(scores.values()), axis=0))

    def _margins(self, logits: Scores) -> DoubleArray:
        found: DoubleArray = logits @ self.asked.direction + self.asked.offset
        return found

    def direction_of(self, reader: str) -> DoubleArray:
        """(width,) What a reader adds to the margin is its `scores @ direction`."""
        return self.asked.direction * self.weights.get(reader, 0.0)

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The weight of each reader in the answer to this text."""
        return self.predictor.weights_for(self.text.text)

    @cached_property
    def counted(self) -> CountedShares | None:
        """What the n-grams and words of the text add to the logits. None if there is no counting reader."""
        reader = self.predictor.trained.counting
        return None if reader is None else counted_shares(reader, self.text)

    @cached_property
    def ruled(self) -> RuledShares | None:
        """What the rules that match the text add to the scores. None if the model has no rules."""
        reader = self.predictor.trained.readers.get("rules")
        return ruled_shares(reader, self.text) if isinstance(reader, RulesReader) else None

    @cached_property
    def _tokens(self) -> tuple[list[int], list[tuple[int, int]]]:
        return self.predictor.trained.tokenizer.encode_with_offsets(self.text.text)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The characters of each token: `text[start:end]`."""
        return self._tokens[1]

    @cached_property
    def reading(self) -> TokenReading | None:
        """The transformer's reading of the text. None if it does not take part in the answer."""
        trained, direction = self.predictor.trained, self.direction_of("transformer")
        if not direction.any():
            return None
        return TokenReading(
            read=self.predictor.read,
            model=getattr(trained, "model", None),
            ids=np.array(self._tokens[0], np.int64),
            groups=self.text.of_tokens(self.spans),
            direction=direction,
            max_seq_len=self.predictor.max_seq_len,
            separator=trained.tokenizer.separator_id,
            least=self.asked.least,
        )


def read_text(predictor: Answering, text: str | Mapping[str, Any]) -> str:
    """Return what a model reads: a text, or of a model that reads several inputs a composed row.

    Raises:
        InputError: the text is not a string, cannot be encoded or is empty.
    """
    if (inputs := predictor.trained.config.inputs) is not None and not is_composed(text):
        text = inputs.compose(text)  # it refuses a plain text in a sentence
    if not isinstance(text, str):
        raise InputError(f"a text is a string, not {type(text).__name__}; for many texts, call this for each of them")
    if half_of_pair(text) is not None:
        raise InputError(f"the text {brief_value(text)} holds half of a surrogate pair, which is not a character")
    if not text.strip():
        raise InputError("the text is empty; give one with words")
    return text
