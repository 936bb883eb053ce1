"""The HTML of an explanation: a page of its own, or a part of another page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.data.files import write_aside
from glassformer.data.wording import counted, label_text
from glassformer.explanation.explanation import Explanation
from glassformer.explanation.pieces import Piece
from glassformer.explanation.shares import NgramInMargin, WordShare, signed
from glassformer.pages.html import page, table

if TYPE_CHECKING:
    from glassformer.explanation.heads import Head

MARKED_STYLE = """
mark { background: none; color: inherit; border-radius: .2em; padding: .1em .05em; }
mark.for { background: color-mix(in srgb, var(--first) var(--share), transparent); }
mark.against { background: color-mix(in srgb, var(--second) var(--share), transparent);
  text-decoration: underline dotted var(--second); text-underline-offset: .3em; }
"""
"""The style of what `marked` returns."""
WORDS_STYLE = """
.words { font-size: 1.25rem; line-height: 2.1; white-space: pre-wrap; }
"""
"""The style of a whole text whose words are marked."""
_STYLE = """
.words del { color: var(--second); }
.words ins { color: var(--first); font-weight: 600; text-decoration: none; }
#nearest td, #nearest thead th { white-space: normal; text-align: left; }
details { border-top: 1px solid var(--line); padding: .4rem 0; }
summary { cursor: pointer; font-variant-numeric: tabular-nums; }
#neighbours td, #neighbours thead th, #passages th { white-space: normal; text-align: left; }
@media (max-width: 30rem) { #words td, #words th { padding-inline: .2rem; } }
"""
_WORDS_SHOWN = 100
_SHOWN = 80  # characters of either end of a passage
_DEEPEST = 60  # per cent of the colour, behind text that must stay readable


def write_explanation(path: Path, found: Explanation) -> None:
    """Write a page with the explanation. It is self-contained, and replaces an earlier one only when it is complete."""
    write_aside(path, render(found))


def render(found: Explanation) -> str:
    """Return the page as HTML. Everything from the text and the labels is escaped."""
    positive, negative = map(escape, found.asked.sides)
    return page(
        found.asked.why,
        "explanation",
        subtitle=escape(found.headline),
        headline=f'<p class="words">{words(found)}</p><p class="soft">Blue: {positive}. '
        f"Orange and underlined: {negative}.</p><p>{escape(found.verdict)}</p>{_caution(found)}",
        sections={
            "words": ("Word by word", _shares(found)),
            "ngrams": ("What counting found", _ngrams(found)),
            "passages": ("Passage by passage", _passages(found)),
            "change": ("What would turn the answer", _counterfactual(found)),
            "heads": ("Head by head", _heads(found)),
            "neighbours": ("Nearest words in the embeddings", _neighbours(found)),
            "nearest": ("Nearest training texts", _nearest(found)),
            "methods": ("Do other methods agree?", _agreement(found)),
        },
        footer=f"Shares of the transformer by {found.method}; those of counting are exact.",
        style=MARKED_STYLE + WORDS_STYLE + _STYLE,
    )


def words(found: Explanation) -> str:
    """Return the text with each word marked by its share."""
    return "".join(marked(piece, found.asked.written(piece.share)) for piece in found.pieces())


def _caution(found: Explanation) -> str:
    return f"<p><strong>{escape(found.caution)}</strong></p>" if found.caution else ""


def marked(piece: Piece, title: str = "") -> str:
    """Return a piece as HTML, coloured by its side and strength. It needs `MARKED_STYLE`."""
    shown, strength = escape(piece.text), piece.strength * _DEEPEST
    if strength < 1:
        return shown
    title = title or signed(piece.share)
    return f'<mark class="{piece.side}" style="--share: {strength:.0f}%" title="{title}">{shown}</mark>'


def _shares(found: Explanation) -> str:
    readers, asked = found.readers if len(found.readers) > 1 else (), found.asked
    strongest, others = found.strongest(_WORDS_SHOWN)
    in_order = sorted(strongest, key=lambda named: named[1][0].start)
    rows = [(escape(name), _cells(found, words, readers)) for name, words in in_order]
    foot = [(f"the other {counted(len(others), 'word')}", _cells(found, others, readers))] if others else []
    rest = (
        ("without known words", found.without_known_words),
        ("not explained", found.unexplained),
        (f"sum: the {asked.whole}", found.margin),
    )
    foot += [(name, (asked.written(value), *("",) * len(readers))) for name, value in rest]
    which = f"each of the {_WORDS_SHOWN} strongest words, all its occurrences together," if others else "each word"
    head = ("word", "both" if len(readers) == 2 else "all", *readers) if readers else ("word", "share")
    return table(f"What {which} adds to the {asked.whole}{asked.unit}", head, rows, foot=foot, sortable=True)


def _cells(found: Explanation, words: Sequence[WordShare], readers: Sequence[str]) -> tuple[str, ...]:
    shares = (sum(word.total for word in words), *(sum(word.shares[name] for word in words) for name in readers))
    return tuple(map(found.asked.written, shares))


def _ngrams(found: Explanation) -> str:
    rows = [
        (_visible(each), (each.family, str(each.count), found.asked.written(each.share)))
        for each in found.ngrams
        if not found.asked.is_nothing(each.share)
    ]
    if not rows:
        return ""
    caption = f"The n-grams that move the {found.asked.whole} most"
    if any(each.family == "characters" for each in found.ngrams):
        caption += ". ␣ is the start or the end of a word"
    return table(caption, ("n-gram", "of", "times", "share"), rows)


def _visible(ngram: NgramInMargin) -> str:
    shown = ngram.ngram if ngram.family == "words" else ngram.ngram.replace(" ", "␣")
    where = "" if ngram.input is None or shown.startswith(f"{ngram.input}=") else f" ({ngram.input})"
    return escape(shown + where)


def _passages(found: Explanation) -> str:
    if not found.passages:
        return ""
    rows = [
        (escape(_shortened(found.text[passage.start : passage.end])), (found.asked.written(passage.margin),))
        for passage in found.passages
    ]
    deciding = max(range(len(rows)), key=lambda number: found.passages[number].margin)
    whole = found.asked.whole
    caption = f"The transformer reads overlapping passages, and its part of the {whole} is the mean of theirs"
    return table(caption, ("passage", "its part"), rows, ours=deciding)


def _counterfactual(found: Explanation) -> str:
    if found.counterfactual is None:
        return ""
    said = f"<p>{escape(found.counterfactual.sentence)}</p>"
    if not found.counterfactual.changes:
        return said
    shown, end = [], 0
    for change in found.counterfactual.changes:
        shown += [escape(found.text[end : change.start]), f"<del>{escape(change.before)}</del>"]
        shown += [f" <ins>{escape(change.after)}</ins>"] if change.after else []
        end = change.end
    shown.append(escape(found.text[end:]))
    then = escape(found.counterfactual.shown)
    return f'{said}<p class="words">{"".join(shown)}</p><p>The answer is then {then}.</p>'


def _heads(found: Explanation) -> str:
    """Return a fold for each head, the strongest first and open. Opening a fold closes the others."""
    order = sorted(found.heads, key=lambda head: -abs(head.share))
    folds = [
        f'<details name="heads"{" open" if number == 0 else ""}><summary>Layer {head.layer}, head {head.head}: '
        f'{found.asked.written(head.share)}</summary><p class="words">{_attended(found, head)}</p></details>'
        for number, head in enumerate(order)
    ]
    return (
        f'<p class="soft">How much the {found.asked.whole} loses without each head{found.asked.unit}. Inside: the '
        f"words that the head looks at. The darker the word, the more attention it gets.</p>{''.join(folds)}"
        if folds
        else ""
    )


def _attended(found: Explanation, head: Head) -> str:
    most, parts, end = max(head.attention, default=0.0) or 1.0, [], 0
    for word, attention in zip(found.words, head.attention, strict=True):
        parts.append(escape(found.text[end : word.start]))
        parts.append(marked(Piece(word.word, "for", attention / most), title=f"{attention:.1%}"))
        end = word.end
    return "".join([*parts, escape(found.text[end:])])


def _neighbours(found: Explanation) -> str:
    if not found.neighbours:
        return ""
    rows = [
        (escape(word), (", ".join(f"{escape(near.word)} {near.cosine:.2f}" for near in nearest),))
        for word, nearest in found.neighbours.items()
    ]
    return table("Words of the vocabulary with the largest cosine", ("word", "nearest"), rows)


def _nearest(found: Explanation) -> str:
    if found.nearest is None:
        return ""
    rows = [
        (
            f"{near.similarity:.3f}".replace("-", "−"),
            (escape(label_text(near.label)), f"{near.row:,}", _folded(near.text)),
        )
        for near in found.nearest.texts
    ]
    remark = f"<p>{escape(found.nearest.remark)}</p>" if found.nearest.remark else ""
    head = ("similarity", "label", "row", "text")
    caption = f"Similarity: {found.nearest.compared}. Row: its number in the training table"
    return remark + (table(caption, head, rows) if rows else "")


def _folded(text: str) -> str:
    """Return a text. Of a long one, return the ends, and the whole text in a fold."""
    short = _shortened(text)
    if short == text:
        return escape(text)
    whole = f'<details><summary>The whole text</summary><span class="text">{escape(text)}</span></details>'
    return f"{escape(short)}{whole}"


def _agreement(found: Explanation) -> str:
    if not found.agreement:
        return ""
    rows = [(escape(method), (f"{value:.2f}".replace("-", "−"),)) for method, value in found.agreement.items()]
    caption = f"Rank correlation of the shares by other methods with those by {escape(found.method)}"
    return table(caption, ("method", "correlation"), rows)


def _shortened(text: str) -> str:
    """Return both ends of a long text, cut between words."""
    if len(text) <= 2 * _SHOWN:
        return text
    head, tail = re.sub(r"\s+\S*$", "", text[:_SHOWN]), re.sub(r"^\S*\s+", "", text[-_SHOWN:])
    return f"{head} … {tail}"
