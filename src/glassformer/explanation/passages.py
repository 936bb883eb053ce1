"""The passage of a long text that decides: the model reads such a text in windows, and each has logits of its own."""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.explanation.question import Question


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A window of a long text: `text[start:end]`, and the margin that the transformer gives to it alone."""

    start: int
    end: int
    margin: float


def passages_of(question: Question) -> tuple[Passage, ...]:
    """Return the passages that the transformer reads one by one. Neighbours overlap. Empty if it reads the whole text.

    The transformer's part of the margin is the mean of theirs.
    """
    reading = question.reading
    if reading is None:
        return ()
    windows, starts = reading.windows
    if len(windows) == 1:
        return ()
    margins = reading.margins_of(list(windows)).tolist()
    length = windows.shape[1] - 1
    spans = [
        question.layout.span(question.spans[first][0], question.spans[first + length - 1][1])
        for first in starts.tolist()
    ]
    return tuple(
        Passage(start=start, end=end, margin=margin) for (start, end), margin in zip(spans, margins, strict=True)
    )
