"""The section of the report that says how often small changes of a text change its answer."""

from collections.abc import Callable
from html import escape
from typing import Any

from glassformer.data.wording import counted
from glassformer.evaluation.robustness import EXAMPLES, NEGATION, TYPO_DRAWS, TYPOS
from glassformer.evaluation.weak_spots import ChangedAnswer, Robustness
from glassformer.pages.html import folded, table

_DESCRIPTIONS = {
    "typos": f"in about one of {1 / TYPOS:.0f} words, two letters change places, or a letter is lost or doubled; "
    f"{TYPO_DRAWS} times for each text",
    "upper case": "the whole text",
    "lower case": "the whole text",
    "no punctuation": "punctuation is dropped, but not in words, links and smileys",
    NEGATION: "a “not” is added or removed (English only)",
}


def robustness_section(
    robustness: Robustness[Any] | None,
    columns: tuple[str, ...],
    cells: Callable[[Any], list[str]],
    shown: Callable[[Any], str],
) -> str:
    """Show what each change does to the answers, and examples. Return nothing if no text could be changed.

    Args:
        columns, cells: the columns of this kind of answer, and the cells of a change.
        shown: writes an answer as HTML.
    """
    if robustness is None or not robustness.changes:
        return ""
    changes = robustness.changes
    negation = (
        " A negation turns what a sentence says. If the label of a short text depends on that, as in an opinion, the "
        "answer should change. For a topic or a long text, it need not."
        if any(change.name == NEGATION for change in changes)
        else ""
    )
    examples = "".join(_example(change.name, each, shown) for change in changes for each in change.examples)
    return (
        f"<p>{counted(robustness.rows, 'row was', 'rows, drawn at random, were')} changed a little, and answered "
        f"again. Typos, case and punctuation should not change the answer.{negation}</p>"
        + table(
            "Only texts that a change alters are counted. Intervals: 95%.",
            ("change", "texts altered", *columns),
            [
                (
                    f"{escape(change.name)}<small>{_DESCRIPTIONS.get(change.name, '')}</small>",
                    [f"{change.rows:,}", *cells(change)],
                )
                for change in changes
            ],
        )
        + (
            f"<h3>Answers that changed</h3><p>At most {EXAMPLES} for each change, the shortest texts.</p>"
            f'<ol class="errors">{examples}</ol>'
            if examples
            else ""
        )
    )


def _example(name: str, found: ChangedAnswer[Any], shown: Callable[[Any], str]) -> str:
    return (
        f'<li><p class="soft">{escape(name)} · row {found.row:,} · answered <b>{shown(found.answer_before)}</b></p>'
        f'{folded(found.before)}<p class="soft">changed, answered <b>{shown(found.answer_after)}</b></p>'
        f"{folded(found.after)}</li>"
    )
