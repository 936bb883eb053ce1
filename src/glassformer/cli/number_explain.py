"""`glassformer explain` with a model that answers with a number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.number import load_number
from glassformer.cli.output import Piece, doing, print_json, print_table, say, show, show_painted
from glassformer.cli.rows_to_answer import given_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glassformer.explanation.number import NumberExplanation, WordEffect

_WORDS_SHOWN = 8
_STRONG, _WEAK = 0.5, 0.1  # shares of the strongest effect from which on a word is painted


def explain_number(model: Path, text: str, device: str, *, json: bool) -> None:
    """Show what the answer to a text loses without each word."""
    predictor = load_number(model, device)
    from glassformer.explanation.number import explain_number as explain

    doing("explaining")
    (_, (composed,)) = given_rows(predictor, [text])
    found = explain(predictor, composed)
    if found.unlike_training:
        say("warning: the text is unlike the training data; its answer means little")
    if json:
        print_json(found.as_json())
    else:
        _show(found)


def _show(found: NumberExplanation) -> None:
    within = "" if found.distance is None else f" (± {found.distance:.4g} for 90% of texts)"
    show(f"{found.value:.4g}{within}\n")
    show_painted([*_painted(found), Piece("\n", "plain")])
    show()
    readers = list(found.words[0].readers)
    heads = (*readers, "both") if len(readers) > 1 else ("effect",)
    lines: list[tuple[str, ...]] = [("all occurrences of a word together", *heads)]
    for word, group in found.strongest(_WORDS_SHOWN):
        effects = [sum(each.readers[name] for each in group) for name in readers] if len(readers) > 1 else []
        lines.append((word, *(_signed(effect) for effect in [*effects, _total(group)])))
    print_table(lines)
    show("\nAn effect is how much the answer falls without the word. Effects need not add up to the answer.")


def _total(group: Sequence[WordEffect]) -> float:
    return sum(each.total for each in group)


def _signed(effect: float) -> str:
    return f"{effect:+.3g}".replace("-", "−")


def _painted(found: NumberExplanation) -> list[Piece]:
    """Return the text with a paint for each word: it raises the number, lowers it, or neither."""
    most = max(abs(each.total) for each in found.words) or 1.0
    pieces, end = [], 0
    for each in found.words:
        side, strength = ("for" if each.total > 0 else "against"), abs(each.total) / most
        paint = f"strongly {side}" if strength >= _STRONG else side if strength >= _WEAK else "plain"
        pieces += [Piece(found.text[end : each.word.start], "plain"), Piece(each.word.text, paint)]
        end = each.word.end
    return [*pieces, Piece(found.text[end:], "plain")]
