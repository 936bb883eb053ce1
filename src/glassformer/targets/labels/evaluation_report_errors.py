"""The section of the report that shows the worst errors, and which words led to some of them."""

from collections.abc import Sequence
from html import escape

from glassformer.data.wording import counted
from glassformer.evaluation.report import worst_errors_section
from glassformer.evaluation.verdict import share
from glassformer.evaluation.weak_spots import ErrorReasons, WorstError
from glassformer.explanation.page import marked
from glassformer.explanation.pieces import pieces_of
from glassformer.pages.html import folded


def errors_section(errors: Sequence[WorstError]) -> str:
    """Show wrong answers, those with the highest confidence first."""
    if not errors:
        return "<p>No row was answered wrongly.</p>"
    explained = sum(error.reasons is not None for error in errors)
    said = (
        f" The words of {counted(explained, 'text')} are coloured by what they add to the answer. These shares were "
        "not checked; <code>glassformer explain</code> checks those of any text."
        if explained
        else ""
    )
    first = "Wrong answers given with the highest confidence: hard texts, or wrong labels."
    return worst_errors_section(errors, first, said, _error)


def _error(error: WorstError) -> str:
    said = (
        f"row {error.row:,} · truth <b>{names(error.truth)}</b> · answered <s>{names(error.prediction)}</s> with "
        f"confidence {share(error.confidence)}"
    )
    if error.reasons is None:
        return f'<li><p class="soft">{said}</p>{folded(error.text) if error.text else ""}</li>'
    words = "".join(map(marked, pieces_of(error.text, error.reasons.words)))
    return f'<li><p class="soft">{said}<br>{_legend(error.reasons)}</p><div class="text" dir="auto">{words}</div></li>'


def _legend(reasons: ErrorReasons) -> str:
    against = f"against {escape(reasons.label)}" if reasons.rival is None else f"for {escape(reasons.rival)}"
    return (
        f'<mark class="for" style="--share: 25%">speaks for {escape(reasons.label)}</mark> · '
        f'<mark class="against" style="--share: 25%">speaks {against}</mark>'
    )


def names(labels: Sequence[str]) -> str:
    """Return the labels of a text as HTML."""
    return escape(", ".join(labels)) if labels else "no label"
