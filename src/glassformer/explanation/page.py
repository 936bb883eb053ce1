"""The HTML of an explanation: a page of its own, or a part of another page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from glassformer.data.files import write_aside
from glassformer.data.wording import label_text
from glassformer.explanation.by_reader import EXACT
from glassformer.explanation.explanation import Explanation
from glassformer.explanation.shares import NgramInMargin, Piece, WordShare, signed
from glassformer.pages.html import rendered
from glassformer.prediction.answering_config import TRANSFORMER, named

if TYPE_CHECKING:
    from glassformer.explanation.heads import Head

_WORDS_SHOWN = 100
_SHOWN = 80  # characters of either end of a passage
_DEEPEST = 60  # per cent of the colour, behind text that must stay readable


def write_explanation(path: Path, found: Explanation) -> None:
    """Write a page with the explanation. It is self-contained, and replaces an earlier one only when it is complete."""
    write_aside(path, render(found))


def render(found: Explanation) -> str:
    """Return the page as HTML. Everything from the text and the labels is escaped."""
    return rendered(
        "explanation/page",
        title=found.asked.why,
        kind="explanation",
        found=found,
        words=words(found),
        shares=_shares(found),
        how_known=_how_known(found),
        most=_WORDS_SHOWN,
        ngrams=[each for each in found.ngrams if not found.asked.is_nothing(each.share)],
        visible=_visible,
        shortened=_shortened,
        strongest_heads=sorted(found.heads, key=lambda head: -abs(head.share)),
        attended=partial(_attended, found),
        label_text=label_text,
    )


def words(found: Explanation) -> Markup:
    """Return the text with each word marked by its share."""
    return Markup("").join(marked(piece, found.asked.written(piece.share)) for piece in found.pieces())


def marked(piece: Piece, title: str = "") -> Markup:
    """Return a piece as HTML, coloured by its side and strength. It needs `marked.css`."""
    strength = piece.strength * _DEEPEST
    if strength < 1:
        return escape(piece.text)
    mark = Markup('<mark class="{}" style="--share: {:.0f}%" title="{}">{}</mark>')
    return mark.format(piece.side, strength, title or signed(piece.share), piece.text)


def _how_known(found: Explanation) -> str:
    """Say of each reader that is asked whether its shares are exact, or how they are estimated."""
    ways: dict[str, list[str]] = {}
    for reader in found.words[0].shares if found.words else ():
        method = found.method.replace("-", " ") if reader == TRANSFORMER else "leaving out words"
        method = "Shapley values" if method == "shapley" else method
        way = "exact" if reader in EXACT else f"estimated by {method}"
        ways.setdefault(way, []).append(named(reader))
    return " ".join(f"Shares of {' and '.join(readers)} are {way}." for way, readers in ways.items())


def _shares(found: Explanation) -> dict[str, Any]:
    """Return the head and the rows of the table of shares: the strongest words in their order, and the others."""
    readers = found.readers if len(found.readers) > 1 else ()
    strongest, others = found.strongest(_WORDS_SHOWN)
    in_order = sorted(strongest, key=lambda named: named[1][0].start)
    return {
        "head": ("word", "both" if len(readers) == 2 else "all", *readers) if readers else ("word", "share"),
        "rows": [(name, _cells(found, words, readers)) for name, words in in_order],
        "others": others,
        "rest": _cells(found, others, readers),
    }


def _cells(found: Explanation, words: Sequence[WordShare], readers: Sequence[str]) -> tuple[str, ...]:
    shares = (sum(word.total for word in words), *(sum(word.shares[name] for word in words) for name in readers))
    return tuple(map(found.asked.written, shares))


def _visible(ngram: NgramInMargin) -> str:
    shown = ngram.ngram if ngram.family == "words" else ngram.ngram.replace(" ", "␣")
    where = "" if ngram.input is None or shown.startswith(f"{ngram.input}=") else f" ({ngram.input})"
    return shown + where


def _attended(found: Explanation, head: Head) -> Markup:
    """Return the text with the words marked that a head looks at."""
    most, parts, end = max(head.attention, default=0.0) or 1.0, [], 0
    for word, attention in zip(found.words, head.attention, strict=True):
        parts.append(found.text[end : word.start])
        parts.append(marked(Piece(word.word, "for", attention / most), title=f"{attention:.1%}"))
        end = word.end
    return Markup("").join([*parts, found.text[end:]])


def _shortened(text: str) -> str:
    """Return both ends of a long text, cut between words."""
    if len(text) <= 2 * _SHOWN:
        return text
    head, tail = re.sub(r"\s+\S*$", "", text[:_SHOWN]), re.sub(r"^\S*\s+", "", text[-_SHOWN:])
    return f"{head} … {tail}"
