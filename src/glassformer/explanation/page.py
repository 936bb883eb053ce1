"""The HTML of an explanation: a page of its own, or a part of another page."""

from __future__ import annotations

from html import escape
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.explanation.explain import Explanation, Piece, WordShare, signed
from glassformer.pages.html import page, table

_STYLE = """
.words { font-size: 1.25rem; line-height: 2.1; white-space: pre-wrap; }
.words mark { color: inherit; border-radius: .2em; padding: .1em .05em; }
.words mark.for { background: color-mix(in srgb, var(--first) var(--share), transparent); }
.words mark.against { background: color-mix(in srgb, var(--second) var(--share), transparent); }
.words mark.against { text-decoration: underline dotted var(--second); text-underline-offset: .3em; }
"""
_DEEPEST = 60  # per cent of the colour, behind text that must stay readable


def write_explanation(path: Path, found: Explanation) -> None:
    """Write a page with the explanation. It is self-contained, and replaces an earlier one only when it is complete."""
    write_aside(path, render(found))


def render(found: Explanation) -> str:
    """Return the page as HTML. Everything from the text and the labels is escaped."""
    label = escape(str(found.label))
    asked = f"{label} ({found.probability:.1%})"
    if found.rival is not None:
        asked += f", rather than {escape(str(found.rival))}"
    return page(
        f"Why {found.label}?",
        "explanation",
        subtitle=asked,
        headline=f'<p class="words">{words(found)}</p><p class="soft">Filled: speaks for {label}. '
        f"Underlined: speaks against it.</p><p>{escape(found.verdict)}</p>",
        sections={
            "words": ("Word by word", _shares(found)),
            "ngrams": ("What counting found", _ngrams(found)),
        },
        footer=f"Shares of the transformer by {found.method}; those of counting are exact.",
        style=_STYLE,
    )


def words(found: Explanation) -> str:
    """Return the text with each word marked by its share."""
    return "".join(_marked(piece) for piece in found.pieces())


def _marked(piece: Piece) -> str:
    shown, strength = escape(piece.text), piece.strength * _DEEPEST
    if strength < 1:
        return shown
    return f'<mark class="{piece.side}" style="--share: {strength:.0f}%" title="{signed(piece.share)}">{shown}</mark>'


def _shares(found: Explanation) -> str:
    rows = [(escape(word.word), _cells(word)) for word in found.words]
    foot = [
        ("without known words", ("", "", signed(found.nothing))),
        ("not explained", ("", "", signed(found.error))),
        ("sum: the margin", ("", "", signed(found.margin))),
    ]
    head = ("word", "counting", "transformer", "both")
    return table("What each word adds to the margin, in logits", head, rows, foot=foot, sortable=True)


def _cells(word: WordShare) -> tuple[str, str, str]:
    return signed(word.counting), signed(word.transformer), signed(word.total)


def _ngrams(found: Explanation) -> str:
    if not found.ngrams:
        return ""
    rows = [(escape(each.ngram), (str(each.count), signed(each.share))) for each in found.ngrams]
    return table("The n-grams that move the margin most", ("n-gram", "times", "share"), rows)
