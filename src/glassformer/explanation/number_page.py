"""The page of an explanation of a number."""

from __future__ import annotations

from html import escape
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.data.wording import short
from glassformer.explanation.number import NumberExplanation, effect_text
from glassformer.explanation.page import MARKED_STYLE, WORDS_STYLE, marked
from glassformer.pages.html import page, table

_WORDS_SHOWN = 100


def write_number_explanation(path: Path, found: NumberExplanation, target: str) -> None:
    """Write a page with the explanation. It is self-contained, and replaces an earlier one only when it is complete.

    Args:
        target: what the number is.
    """
    write_aside(path, render_number_explanation(found, target))


def render_number_explanation(found: NumberExplanation, target: str) -> str:
    """Return the page as HTML. Everything from the text is escaped."""
    within = "" if found.distance is None else f", ± {short(found.distance)} for 90% of texts"
    unlike = "The text is unlike the training data; its answer means little." if found.unlike_training else ""
    words = "".join(marked(piece, title=effect_text(piece.share)) for piece in found.pieces())
    return page(
        f"Why {short(found.value)}?",
        "explanation",
        subtitle=escape(f"{target}: {short(found.value)}{within}"),
        headline=f'<p class="words">{words}</p><p class="soft">Blue: raises the number. Orange and underlined: lowers '
        f"it.</p>{f'<p><strong>{unlike}</strong></p>' if unlike else ''}",
        sections={"words": ("Word by word", _effects(found))},
        footer="An effect is how much the answer falls without the word. Effects need not add up to the answer.",
        style=MARKED_STYLE + WORDS_STYLE,
    )


def _effects(found: NumberExplanation) -> str:
    readers = list(found.words[0].readers)
    both = len(readers) > 1
    in_order = sorted(found.strongest(_WORDS_SHOWN), key=lambda named: named[1][0].word.start)
    rows = []
    for word, group in in_order:
        total = sum(each.total for each in group)
        by_reader = [sum(each.readers[name] for each in group) for name in readers] if both else []
        rows.append((escape(word), tuple(map(effect_text, [total, *by_reader]))))
    head = ("word", "both", *readers) if both else ("word", "effect")
    few = f" of the {_WORDS_SHOWN} strongest words" if len(rows) == _WORDS_SHOWN else ""
    caption = (
        f"How much the answer falls without each word{few}, all its occurrences together, in the unit of the number"
    )
    return table(caption, head, rows, sortable=True)
