"""The section of the report that says how often small changes of a text change its answer."""

from html import escape

from glassformer.data.wording import counted
from glassformer.evaluation.report_errors import names
from glassformer.evaluation.report_review import with_interval
from glassformer.evaluation.robustness import EXAMPLES, NEGATION, TYPO_DRAWS, TYPOS
from glassformer.evaluation.verdict import share
from glassformer.evaluation.weak_spots import ChangedAnswer, Robustness, TextChange
from glassformer.pages.html import folded, table

_DESCRIPTIONS = {
    "typos": f"in about one of {1 / TYPOS:.0f} words, two letters change places, or a letter is lost or doubled; "
    f"{TYPO_DRAWS} times for each text",
    "upper case": "the whole text",
    "lower case": "the whole text",
    "no punctuation": "punctuation is dropped, but not in words, links and smileys",
    NEGATION: "a “not” is added or removed (English only)",
}


def robustness_section(robustness: Robustness | None) -> str:
    """Show how often each change alters the answers, and examples. Return nothing if no text could be changed."""
    if robustness is None or not robustness.changes:
        return ""
    changes = robustness.changes
    negation = (
        " A negation turns what a sentence says. If the label of a short text depends on that, as in an opinion, the "
        "answer should change. For a topic or a long text, it need not."
        if any(change.name == NEGATION for change in changes)
        else ""
    )
    examples = "".join(_example(change.name, each) for change in changes for each in change.examples)
    return (
        f"<p>{counted(robustness.rows, 'row was', 'rows, drawn at random, were')} changed a little, and answered "
        f"again. Typos, case and punctuation should not change the answer.{negation}</p>"
        + table(
            "Only texts that a change alters are counted. Intervals: 95%.",
            ("change", "texts altered", "answers changed", "accuracy before", "accuracy after"),
            [_line(change) for change in changes],
        )
        + (
            f"<h3>Answers that changed</h3><p>At most {EXAMPLES} for each change, the shortest texts.</p>"
            f'<ol class="errors">{examples}</ol>'
            if examples
            else ""
        )
    )


def _line(change: TextChange) -> tuple[str, list[str]]:
    after = change.accuracy_after
    return (
        f"{escape(change.name)}<small>{_DESCRIPTIONS.get(change.name, '')}</small>",
        [
            f"{change.rows:,}",
            with_interval(change.answers_changed),
            share(change.accuracy_before),
            "–" if after is None else share(after),
        ],
    )


def _example(name: str, found: ChangedAnswer) -> str:
    return (
        f'<li><p class="soft">{escape(name)} · row {found.row:,} · answered <b>{names(found.answer_before)}</b></p>'
        f'{folded(found.before)}<p class="soft">changed, answered <b>{names(found.answer_after)}</b></p>'
        f"{folded(found.after)}</li>"
    )
