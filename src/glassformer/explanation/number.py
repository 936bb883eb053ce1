"""Explain an answer with a number: what it loses if a word is left out, in the unit of the number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.data.input_layout import Layout
from glassformer.errors import UsageError, brief
from glassformer.explanation.pieces import Piece, pieces_of
from glassformer.explanation.words import TextInWords, Word
from glassformer.prediction.answering import Answering
from glassformer.targets.answers import Reader
from glassformer.targets.number.target import NumberAnswers, significant

MOST_WORDS = 2_000
_WORDS_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class WordEffect:
    """A word, and what the answer loses without it: by each reader, and in all."""

    word: Word
    readers: Mapping[Reader, float]
    total: float
    input: str | None = None
    """The column of the text that the word is in, or whose value it is. None if the model reads one text."""

    @property
    def is_value(self) -> bool:
        """Whether the word is the value of a column, such as `shop=Berlin`."""
        return self.input is not None and self.word.text.startswith(f"{self.input}=")


@dataclass(frozen=True, kw_only=True)
class NumberExplanation:
    """An answer with the effect of each word.

    Effects do not add up to the answer: two words that say the same have little effect one by one.

    Attributes:
        text: the text, or a row of several inputs as it is shown (`Layout`). The words stand there.
        distance: half of the width of the interval. None if it is not known.
        unlike_training: None if the model does not know.
    """

    text: str
    value: float
    distance: float | None
    words: tuple[WordEffect, ...]
    unlike_training: bool | None

    def __repr__(self) -> str:
        words = {word: significant(sum(each.total for each in group)) for word, group in self.strongest(_WORDS_SHOWN)}
        return f"NumberExplanation(text={brief(self.text)!r}, value={significant(self.value)}, strongest={words})"

    def pieces(self) -> Iterator[Piece]:
        """Yield the text in pieces: a word that raises the number is `for`, one that lowers it `against`."""
        return pieces_of(self.text, [(each.word.start, each.word.end, each.total) for each in self.words])

    def strongest(self, most: int) -> list[tuple[str, list[WordEffect]]]:
        """Return the words with the largest effects, all occurrences of a word in a text together.

        Of several texts, a word is named with its text, as `film (answer)`.
        """
        several = len({each.input for each in self.words if not each.is_value}) > 1
        together: dict[str, list[WordEffect]] = {}
        for each in self.words:
            name = each.word.text if each.is_value else each.word.text.lower()
            named = f"{name} ({each.input})" if several and not each.is_value else name
            together.setdefault(named, []).append(each)
        return sorted(together.items(), key=lambda named: -abs(sum(each.total for each in named[1])))[:most]

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as JSON."""
        away = self.distance
        return {
            "text": self.text,
            "prediction": significant(self.value),
            "interval_low": None if away is None else significant(self.value - away),
            "interval_high": None if away is None else significant(self.value + away),
            "unlike_training": self.unlike_training,
            "words": [
                {
                    "word": each.word.text,
                    "start": each.word.start,
                    "end": each.word.end,
                    "effect": significant(each.total),
                    "readers": {name: significant(effect) for name, effect in each.readers.items()},
                    **({} if each.input is None else {"input": each.input}),
                }
                for each in self.words
            ],
        }


def answer_alone(predictor: Answering[NumberAnswers], text: str) -> NumberExplanation:
    """Answer a text without an explanation: one that `explain_number` refuses."""
    answers = predictor.answer([text])
    unlike = answers.unlike
    return NumberExplanation(
        text=Layout.of(text, predictor.trained.config.inputs).text,
        value=float(answers.values[0]),
        distance=answers.distance,
        words=(),
        unlike_training=None if unlike is None else bool(unlike[0]),
    )


def can_be_explained(text: str) -> bool:
    """Whether a text has words, and not too many."""
    return 0 < len(TextInWords.cut(text).words) <= MOST_WORDS


def explain_number(predictor: Answering[NumberAnswers], text: str) -> NumberExplanation:
    """Answer the text, and again without each of its words (leave one out: Li et al. 2016).

    Raises:
        UsageError: the text has no words, or too many.
    """
    cut = TextInWords.cut(text)
    if not cut.words:
        raise UsageError("the text has no words, so there is nothing to explain")
    if len(cut.words) > MOST_WORDS:
        raise UsageError(
            f"the text has {len(cut.words):,} words, and the model would answer once for each; give at most "
            f"{MOST_WORDS:,} words"
        )
    answers = predictor.answer([text, *(cut.without([number]) for number in range(len(cut.words)))])
    layout = Layout.of(text, predictor.trained.config.inputs)
    asked = [name for name, weight in predictor.trained.config.weights.items() if weight]
    lost = {name: answers.readers[name][0] - answers.readers[name][1:] for name in asked}
    total = np.sum(list(lost.values()), axis=0)
    unlike = answers.unlike
    return NumberExplanation(
        text=layout.text,
        value=float(answers.values[0]),
        distance=answers.distance,
        words=tuple(
            WordEffect(
                word=_shown(word, layout),
                readers={name: float(effects[i]) for name, effects in lost.items()},
                total=float(total[i]),
                input=layout.input_of(word.start),
            )
            for i, word in enumerate(cut.words)
        ),
        unlike_training=None if unlike is None else bool(unlike[0]),
    )


def effect_text(value: float) -> str:
    """Write an effect with its sign, three digits that count, and all digits before the point."""
    return (f"{value:+,.0f}" if 999.5 <= abs(value) < 1e15 else f"{value:+.3g}").replace("-", "−")


def _shown(word: Word, layout: Layout) -> Word:
    start, end = layout.span(word.start, word.end)
    return Word(text=word.text, start=start, end=end)
