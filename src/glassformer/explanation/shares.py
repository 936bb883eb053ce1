"""What a word and an n-gram add to the margin."""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.readers.counting.ngrams import Family


@dataclass(frozen=True, kw_only=True)
class WordShare:
    """What a word adds to the margin, in logits. `text[start:end]` is the word.

    Attributes:
        input: the column of the text that the word is in, or whose value it is. None if the model reads one text.
    """

    word: str
    start: int
    end: int
    counting: float
    transformer: float
    input: str | None = None

    @property
    def total(self) -> float:
        return self.counting + self.transformer

    @property
    def is_value(self) -> bool:
        """Whether the word is the value of a column, such as `shop=Berlin`."""
        return self.input is not None and self.word.startswith(f"{self.input}=")

    def named(self, *, several: bool) -> str:
        """Return the word, and if the model reads several texts the column of its text."""
        return f"{self.word} ({self.input})" if several and not self.is_value else self.word


@dataclass(frozen=True, kw_only=True)
class NgramInMargin:
    """What an n-gram adds to the margin by counting, in logits, and how often it occurs.

    `input` is the column that it is in. None if the model reads one text.
    """

    ngram: str
    family: Family
    count: int
    share: float
    input: str | None = None
