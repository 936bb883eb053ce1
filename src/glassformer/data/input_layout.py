"""A composed row as people see it, and where its words stand there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from glassformer.data.inputs import BEGIN, SEPARATOR, Inputs, fields


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a row: `composed[start:end]`, which is shown from the character `at` on.

    Attributes:
        first: where it begins with its bracket.
    """

    name: str
    first: int
    start: int
    end: int
    at: int


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A row as it is shown: its columns on the first line, then each text with its name. A plain text stays as it is.

    Attributes:
        parts: the columns and texts of a row, in their order. Empty for a plain text.
    """

    text: str
    parts: tuple[Part, ...] = ()

    @classmethod
    def of(cls, text: str, inputs: Inputs | None) -> Layout:
        """Lay out what a model reads."""
        if inputs is None:
            return cls(text=text)
        shown = ""
        parts: list[Part] = []
        names = iter(inputs.texts)
        columns = iter(inputs.beside)
        for first, last in fields(text):
            start, end = first, last
            if text.startswith(BEGIN, first):
                start, end, name = first + 1, last - 1, next(columns, "")
                shown += ", " if parts else ""
            else:
                name = next(names, inputs.texts[-1])
                shown += f"\n{name}: " if parts else f"{name}: "
            parts.append(Part(name=name, first=first, start=start, end=end, at=len(shown)))
            shown += text[start:end]
        return cls(text=shown, parts=tuple(parts))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where `composed[start:end]` stands in `text`."""
        if not self.parts:
            return start, end
        first, last = self._part(start), self._part(max(start, end - 1))
        return (
            first.at + max(0, start - first.start),
            last.at + max(0, min(end, last.end) - last.start),
        )

    def input_of(self, start: int) -> str | None:
        """Return the name of the column or text that holds a character of the composed row; None in a plain text."""
        return self._part(start).name if self.parts else None

    def _part(self, place: int) -> Part:
        """Return the part that holds a character, or the one before it."""
        return next((part for part in reversed(self.parts) if part.first <= place), self.parts[0])


def tokens_written(text: str, layout: Layout, spans: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Return how tokens are written, from their places in what a model reads. `layout` is that of the text."""
    return tuple(
        "(next text)" if text[start:end] == SEPARATOR else layout.text[slice(*layout.span(start, end))] or "(end)"
        for start, end in spans
    )
