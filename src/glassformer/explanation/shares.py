"""What a word and an n-gram add to the margin, and a text in pieces, as a page or a terminal colours it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from glassformer.readers.counting.ngrams import Family

IN_JSON = ("counting", "transformer")
"""Readers whose shares are always in the JSON of a word: 0 if a model does not have them."""


@dataclass(frozen=True, kw_only=True)
class WordShare:
    """What a word adds to the margin. `text[start:end]` is the word.

    Attributes:
        input: the column of the text that the word is in, or whose value it is. None if the model reads one text.
    """

    word: str
    start: int
    end: int
    shares: Mapping[str, float]
    input: str | None = None

    @property
    def total(self) -> float:
        return sum(self.shares.values())

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values. Its input is left out if the model reads one text."""
        where = {} if self.input is None else {"input": self.input}
        shares = dict.fromkeys(IN_JSON, 0.0) | dict(self.shares)
        return {"word": self.word, "start": self.start, "end": self.end, **shares, **where, "total": self.total}

    @property
    def is_value(self) -> bool:
        """Whether the word is the value of a column, such as `shop=Berlin`."""
        return self.input is not None and self.word.startswith(f"{self.input}=")

    def named(self, *, several: bool) -> str:
        """Return the word, and if the model reads several texts the column of its text."""
        return f"{self.word} ({self.input})" if several and not self.is_value else self.word


@dataclass(frozen=True, kw_only=True)
class NgramInMargin:
    """What an n-gram adds to the margin by counting, and how often it occurs.

    `input` is the column that it is in. None if the model reads one text.
    """

    ngram: str
    family: Family
    count: int
    share: float
    input: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values. Its input is left out if the model reads one text."""
        return {name: value for name, value in asdict(self).items() if name != "input" or value is not None}


def signed(value: float) -> str:
    """Write a share or a margin in logits: +1.25, −0.30 or 0.00."""
    return f"{value:+.2f}".replace("-", "−") if round(value, 2) else "0.00"


Side = Literal["for", "against", "neither"]
Share = tuple[int, int, float]
"""What the word `text[start:end]` adds to the margin: (start, end, share)."""


class Piece(NamedTuple):
    """A word of the text, or what stands between words.

    Attributes:
        side: for the label, against it, or neither.
        strength: from 0 to 1, which is the strength of the word that moves the margin most.
    """

    text: str
    side: Side = "neither"
    strength: float = 0.0
    share: float = 0.0


def pieces_of(text: str, shares: Sequence[Share]) -> Iterator[Piece]:
    """Yield the whole text in pieces. The words are in the order of the text and do not overlap."""
    most = max((abs(share) for _, _, share in shares), default=0.0) or 1.0
    last = 0
    for start, end, share in shares:
        yield Piece(text[last:start])
        side: Side = "for" if share > 0 else "against"
        yield Piece(text[start:end], side if share else "neither", abs(share) / most, share)
        last = end
    yield Piece(text[last:])
