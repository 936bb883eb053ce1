"""A text in pieces: each word with its side and strength, as a page or a terminal colours it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

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
    most = _most(shares) or 1.0
    last = 0
    for start, end, share in shares:
        yield Piece(text[last:start])
        side: Side = "for" if share > 0 else "against"
        yield Piece(text[start:end], side if share else "neither", abs(share) / most, share)
        last = end
    yield Piece(text[last:])


def _most(shares: Iterable[Share]) -> float:
    return max((abs(share) for _, _, share in shares), default=0.0)
