"""`glassformer explain` with a model that answers with a number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.explain_file import Reasons
from glassformer.cli.explained import paint
from glassformer.cli.output import Piece, doing, print_json, print_table, say, show, show_painted
from glassformer.cli.rows_to_answer import given_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glassformer.explanation.number import NumberExplanation, WordEffect
    from glassformer.prediction.answering import Answering

_WORDS_SHOWN = 8


def explain_number(predictor: Answering, text: str, html: Path | None, *, json: bool) -> None:
    """Show what the answer to a text loses without each word, and write a page of it to `html`."""
    from glassformer.explanation.number import explain_number as explain

    doing("explaining")
    (_, (composed,)) = given_rows(predictor, [text])
    found = explain(predictor, composed)
    if html is not None:
        from glassformer.explanation.number_page import write_number_explanation
        from glassformer.targets.number.target import number_of

        write_number_explanation(html, found, number_of(predictor.trained.config.target).column)
        say(f"page: {html}")
    if found.unlike_training:
        say("warning: the text is unlike the training data; its answer means little")
    if json:
        print_json(found.as_json())
    else:
        _show(found)


def number_reasons(predictor: Answering) -> Reasons:
    """Return how the rows of a table are explained. A text that is too long gets an answer without reasons."""
    from glassformer.explanation.number import MOST_WORDS, answer_alone, can_be_explained
    from glassformer.explanation.number import explain_number as explain
    from glassformer.explanation.number_reasons import NUMBER_REASON_COLUMNS, number_reasons_table

    def explained(text: str, where: str) -> NumberExplanation:
        if can_be_explained(text):
            return explain(predictor, text)
        say(f"warning: {where} has no words, or more than {MOST_WORDS:,}: it is answered without reasons")
        return answer_alone(predictor, text)

    return Reasons(explain=explained, columns=NUMBER_REASON_COLUMNS, table=number_reasons_table)


def _show(found: NumberExplanation) -> None:
    from glassformer.data.wording import short
    from glassformer.explanation.number import effect_text

    within = "" if found.distance is None else f" (± {short(found.distance)} for 90% of texts)"
    show(f"{short(found.value)}{within}\n")
    show_painted(
        [*(Piece(each.text, paint(each.side, each.strength)) for each in found.pieces()), Piece("\n", "plain")]
    )
    show()
    readers = list(found.words[0].readers)
    heads = (*readers, "both") if len(readers) > 1 else ("effect",)
    lines: list[tuple[str, ...]] = [("all occurrences of a word together", *heads)]
    for word, group in found.strongest(_WORDS_SHOWN):
        effects = [sum(each.readers[name] for each in group) for name in readers] if len(readers) > 1 else []
        lines.append((word, *(effect_text(effect) for effect in [*effects, _total(group)])))
    print_table(lines)
    show("\nAn effect is how much the answer falls without the word. Effects need not add up to the answer.")


def _total(group: Sequence[WordEffect]) -> float:
    return sum(each.total for each in group)
