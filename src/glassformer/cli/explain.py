"""`glassformer explain`: why a model gave an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.hints import check_order
from glassformer.cli.options import Device, Json, Quiet
from glassformer.cli.output import Piece, hush, print_json, print_table, show, show_painted

if TYPE_CHECKING:
    from glassformer.explanation.explain import Explanation, WordShare

_WORDS_SHOWN = 8
_STRONG, _WEAK = 0.5, 0.1  # shares of the strongest word from which on a word is painted


def explain(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    text: Annotated[str, typer.Argument(help="The text.")],
    label: Annotated[str | None, typer.Option(help="Explain this label. Default: the most probable one.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help="How the transformer is explained: see docs/explain.md. Default: the most faithful."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page with the explanation to this file.")] = None,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show what each word adds to an answer, by counting and by the transformer."""
    if quiet:
        hush()
    check_order(model, text)
    from glassformer.explanation.explain import DEFAULT_METHOD
    from glassformer.explanation.explain import explain as explain_text
    from glassformer.explanation.page import write_explanation
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.predictor import Predictor

    predictor = Predictor.load(model, device=choose_device(device))
    found = explain_text(predictor, text, label=label, method=method or DEFAULT_METHOD)
    if html is not None:
        write_explanation(html, found)
    if json:
        print_json(found.as_json())
    else:
        _show(found)


def _show(found: Explanation) -> None:
    rather = "" if found.rival is None else f", rather than {found.rival}"
    show(f"{found.label} ({found.probability:.1%}){rather}\n")
    show_painted(_painted(found))
    show()
    print_table(_table(found))
    show(f"\n{found.verdict}")


def _table(found: Explanation) -> list[tuple[str, ...]]:
    """Return the lines of the strongest words and of what the margin holds besides."""
    from glassformer.data.table import counted
    from glassformer.explanation.explain import signed

    both = len(found.readers) > 1
    columns = (*found.readers, "total") if both else ("total",)
    strongest = sorted(found.words, key=lambda word: -abs(word.total))[:_WORDS_SHOWN]
    others = [word for word in found.words if word not in strongest]
    lines = [("", *found.readers, "both") if both else ("", "share")]
    lines += [_line(word.word, [word], columns) for word in strongest]
    if others:
        lines.append(_line(f"the other {counted(len(others), 'word')}", others, columns))
    blank = ("",) * (len(columns) - 1)
    rest = (("without known words", found.nothing), ("not explained", found.error), ("sum", found.margin))
    return lines + [(name, *blank, signed(value)) for name, value in rest if round(value, 2) or name == "sum"]


def _line(name: str, words: Sequence[WordShare], columns: Sequence[str]) -> tuple[str, ...]:
    from glassformer.explanation.explain import signed

    return name, *(signed(sum(getattr(word, column) for word in words)) for column in columns)


def _painted(found: Explanation) -> list[Piece]:
    """Return the text with a paint for each word: for the label, against it, or neither."""
    return [Piece(piece.text, _paint(piece.side, piece.strength)) for piece in found.pieces()] + [Piece("\n", "plain")]


def _paint(side: str, strength: float) -> str:
    return f"strongly {side}" if strength >= _STRONG else side if strength >= _WEAK else "plain"
