"""Show an explanation in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glassformer.cli.output import Piece, human_count, one_line, print_table, say, shortened, show, show_painted

if TYPE_CHECKING:
    from glassformer.explanation.explanation import Explanation
    from glassformer.explanation.heads import Head
    from glassformer.explanation.shares import WordShare
    from glassformer.prediction.nearest import NearestTexts

_WORDS_SHOWN = 8
_HEADS_SHOWN, _WORDS_OF_HEAD = 5, 4
_LONGEST_PASSAGE, _LONGEST_TEXT = 160, 100  # characters
_STRONG, _WEAK = 0.5, 0.1  # shares of the strongest word from which on a word is painted


def show_explanation(found: Explanation) -> None:
    """Print the answer, the painted text, the strongest words, the verdict, and what else was asked for."""
    show(f"{found.headline}\n")
    if found.asked.also_given:
        import shlex

        say(f"note: --label {shlex.quote(str(found.asked.also_given[0]))} explains another label of the answer")
    show_painted(_painted(found))
    show()
    print_table(_table(found))
    show(f"\n{found.verdict}")
    _show_passage(found)
    if found.counterfactual is not None:
        show(f"\n{found.counterfactual.sentence}")
        if found.counterfactual.changes:
            show(f"The answer is then {found.counterfactual.shown}.")
    if found.heads:
        show(f"\nThe heads that move the {found.asked.whole} most, and the words that they look at:")
        print_table(_heads(found), others=str.ljust)
    if found.neighbours:
        from glassformer.explanation.explanation import in_list

        show("\nNearest words in the embeddings:")
        lines = [
            (word, ", ".join(in_list(near.word) for near in nearest)) for word, nearest in found.neighbours.items()
        ]
        print_table(lines, others=str.ljust)
    if found.nearest is not None:
        _show_nearest(found.nearest)


def _show_nearest(nearest: NearestTexts) -> None:
    from glassformer.data.wording import label_text

    show(f"\nNearest training texts, by the {nearest.compared}:")
    if nearest.texts:
        print_table(
            [
                (
                    f"{near.similarity:.3f}".replace("-", "−"),
                    label_text(near.label),
                    f"row {near.row:,}",
                    shortened(one_line(near.text), _LONGEST_TEXT),
                )
                for near in nearest.texts
            ],
            others=str.ljust,
        )
    if nearest.remark:
        show(nearest.remark)


def _table(found: Explanation) -> list[tuple[str, ...]]:
    """Return the lines of the strongest words and of what the margin holds besides."""
    from glassformer.data.wording import counted

    readers = found.readers if len(found.readers) > 1 else ()
    strongest, others = found.strongest(_WORDS_SHOWN)
    heading = "all occurrences of a word together" if len(found.words) > _WORDS_SHOWN else ""
    lines = [(heading, *readers, "both" if len(readers) == 2 else "all" if readers else "share")]
    lines += [_line(found, name, words, readers) for name, words in strongest]
    if others:
        lines.append(_line(found, f"the other {counted(len(others), 'word')}", others, readers))
    return lines + [(name, *("",) * len(readers), found.asked.written(value)) for name, value in found.rest]


def _line(found: Explanation, name: str, words: Sequence[WordShare], readers: Sequence[str]) -> tuple[str, ...]:
    shares = (*(sum(word.shares[reader] for word in words) for reader in readers), sum(word.total for word in words))
    return name, *map(found.asked.written, shares)


def _painted(found: Explanation) -> list[Piece]:
    """Return the text with a paint for each word: for the label, against it, or neither."""
    return [Piece(piece.text, _paint(piece.side, piece.strength)) for piece in found.pieces()] + [Piece("\n", "plain")]


def _paint(side: str, strength: float) -> str:
    """Return the paint of a word: its side, and whether it is strong."""
    return f"strongly {side}" if strength >= _STRONG else side if strength >= _WEAK else "plain"


def _show_passage(found: Explanation) -> None:
    if (passage := found.deciding) is None:
        return
    words = sum(passage.start <= word.start < passage.end for word in found.words)
    show(
        f"\nThe transformer read {len(found.passages)} overlapping passages. This one, of {human_count(words)} words, "
        f"{found.asked.sides[0]} most ({found.asked.written(passage.margin)} by itself):"
    )
    show(shortened(one_line(found.text[passage.start : passage.end]), _LONGEST_PASSAGE))


def _heads(found: Explanation) -> list[tuple[str, ...]]:
    strongest = sorted(found.heads, key=lambda head: -abs(head.share))[:_HEADS_SHOWN]
    return [
        (f"layer {head.layer}, head {head.head}", found.asked.written(head.share), ", ".join(_looked_at(found, head)))
        for head in strongest
    ]


def _looked_at(found: Explanation, head: Head) -> list[str]:
    from glassformer.explanation.explanation import in_list

    order = sorted(range(len(found.words)), key=lambda number: -head.attention[number])[:_WORDS_OF_HEAD]
    return [f"{in_list(found.words[number].word)} {head.attention[number]:.0%}" for number in order]
