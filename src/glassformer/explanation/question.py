"""What is asked about a text: the margin between two labels, as both readers answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from glassformer.data.arrays import DoubleArray
from glassformer.data.input_layout import Layout
from glassformer.data.inputs import is_composed
from glassformer.errors import InputError, brief_value
from glassformer.explanation.counting import CountedShares, counted_shares
from glassformer.explanation.reading import TokenReading
from glassformer.explanation.words import TextInWords
from glassformer.prediction.answering import Answering

_LABELS_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Question:
    """A text, and the two labels whose margin is asked about.

    Attributes:
        prediction: the answer: a label, or a list of labels with several labels per text.
        probs: (n_classes,) the probabilities of the text's labels.
        label: the number of the explained label.
        rival: the number of the most probable other label. None with several labels per text.
    """

    predictor: Answering
    text: TextInWords
    prediction: Any
    probs: DoubleArray
    label: int
    rival: int | None

    @classmethod
    def ask(cls, predictor: Answering, text: str | Mapping[str, Any], label: Any = None) -> Question:
        """Ask why a text gets a label, by default the most probable one.

        Args:
            text: a text, or of a model that reads several inputs a row.

        Raises:
            InputError: the text is not a string, cannot be encoded or is empty, or there is no such label.
        """
        if (inputs := predictor.trained.config.inputs) is not None and not is_composed(text):
            text = inputs.compose(text)  # it refuses a plain text in a sentence
        if not isinstance(text, str):
            raise InputError(
                f"a text is a string, not {type(text).__name__}; for many texts, call this for each of them"
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the text cannot be encoded: {error.reason}: {brief_value(text)}") from error
        if not text.strip():
            raise InputError("the text is empty, so there is nothing to explain")
        config = predictor.trained.config
        answers = predictor.answer([text])
        probs = answers.probs[0].astype(np.float64)
        first, rival = _labels(probs, list(config.labels), label, multilabel=config.multilabel)
        cut, (prediction,) = TextInWords.cut(text), answers.read()
        return cls(predictor=predictor, text=cut, prediction=prediction, probs=probs, label=first, rival=rival)

    @cached_property
    def layout(self) -> Layout:
        """How the text is shown to people."""
        return Layout.of(self.text.text, self.predictor.trained.config.inputs)

    @property
    def direction(self) -> DoubleArray:
        """(n_classes,) The margin is `logits @ direction`."""
        direction = np.zeros(self.predictor.trained.config.n_classes)
        direction[self.label] = 1
        if self.rival is not None:
            direction[self.rival] = -1
        return direction / self.predictor.trained.config.temperature

    def margins(self, texts: Sequence[str]) -> DoubleArray:
        """Return the margin of each text, by both readers."""
        found: DoubleArray = self.predictor.logits(texts) @ self.direction
        return found

    @cached_property
    def counted(self) -> CountedShares | None:
        """What the n-grams and words of the text add to the logits. None if there is no counting reader."""
        reader = self.predictor.trained.counting
        return None if reader is None else counted_shares(reader, self.text)

    @property
    def counting_direction(self) -> DoubleArray:
        """(n_classes,) What the counting reader adds to the margin is its `logits @ counting_direction`."""
        readers = self.predictor.trained.config.readers
        return self.direction * (0.0 if readers is None else readers.counting.weight)

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
        trained = self.predictor.trained
        weight = 1.0 if trained.config.readers is None else trained.config.readers.transformer.weight
        if not weight:
            return None
        return TokenReading(
            read=self.predictor.read,
            model=getattr(trained, "model", None),
            ids=np.array(self._tokens[0], np.int64),
            groups=self.text.of_tokens(self.spans),
            direction=self.direction * weight,
            max_seq_len=self.predictor.max_seq_len,
            separator=trained.tokenizer.separator_id,
        )


def _labels(probs: DoubleArray, labels: list[Any], label: Any, *, multilabel: bool) -> tuple[int, int | None]:
    """Return the numbers of the explained label and of its rival.

    Raises:
        InputError: there is no such label.
    """
    order = np.argsort(-probs, kind="stable").tolist()
    first = order[0]
    if label is not None:
        named = [number for number, known in enumerate(labels) if known == label or str(known) == str(label)]
        if not named:
            known = ", ".join(brief_value(each) for each in labels[:_LABELS_SHOWN])
            raise InputError(f"`label={brief_value(label)}`: the model has no such label; it has {known}")
        first = named[0]
    others = [number for number in order if number != first]
    return first, None if multilabel or not others else others[0]
