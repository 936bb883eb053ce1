"""The sections of a report that every kind of answer has."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from glassformer.data.wording import counted
from glassformer.errors import quoted
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.robustness import EXAMPLES, NEGATION, TYPO_DRAWS, TYPOS
from glassformer.evaluation.slices import FEWEST_ROWS
from glassformer.evaluation.verdict import p_value, share, signed, slice_name
from glassformer.evaluation.weak_spots import ChangedAnswer, DoubtfulRows, InputShare, Robustness, Slices
from glassformer.pages.html import folded, table


def doubts_section(doubts: DoubtfulRows[Any] | None, what: str, read: str, shown: Callable[[Any], str]) -> str:
    """Show the most doubtful rows, and the command that checks the whole training table.

    Args:
        what: what these rows have.
        read: what to know before a row is changed.
        shown: writes a row as HTML.
    """
    if doubts is None:
        return ""
    check = "" if doubts.command is None else f" To check the whole table, run <code>{escape(doubts.command)}</code>."
    few = len(doubts.listed) < doubts.doubtful
    most = f" These are the {len(doubts.listed):,} most doubtful ones." if few else ""
    rows = f"{counted(doubts.rows, 'row that was', 'rows that were')} held out from training"
    if doubts.cross_fitted:
        rows = f"{counted(doubts.rows, 'row')}, each answered by a model that had not learned it"
    listed = "".join(
        f'<li><p class="soft">row {each.row:,} · {shown(each)}</p>{"" if each.text is None else folded(each.text)}</li>'
        for each in doubts.listed
    )
    return (
        f"<p>Of {rows}, {doubts.doubtful:,} {'has' if doubts.doubtful == 1 else 'have'} {what}.{most} The rows are "
        f'those of {escape(doubts.source)}.</p><p class="soft">{read}{check}</p><ol class="errors">{listed}</ol>'
    )


def inputs_section(inputs: Sequence[InputShare], figure: str, of: Callable[[Any], tuple[float, float]]) -> str:
    """Show the leading figure without each input. Return nothing if a row is one text.

    Args:
        figure: its name.
        of: returns the figure with all inputs, and without this one.
    """
    if not inputs:
        return ""
    return (
        f"<p>The values of one input were permuted between {counted(inputs[0].rows, 'row')}; all other inputs stayed "
        f"the same. The loss of {figure} is what the model gets from this input. An input may give little because "
        "another says the same.</p>"
        + table(
            f"{figure[:1].upper()}{figure[1:]} with all inputs: {share(of(inputs[0])[0])}. Intervals: 95%, paired "
            "bootstrap.",
            ("input", f"{figure} without it", "what it gives", "95% interval"),
            [
                (
                    f"{escape(each.name)}<small>{each.kind}</small>",
                    [
                        share(of(each)[1]),
                        signed(each.gain.value),
                        f"{signed(each.gain.low)} to {signed(each.gain.high)}",
                    ],
                )
                for each in inputs
            ],
        )
    )


_SHOWN = 10
_FEWEST = counted(FEWEST_ROWS, "row")
_COLUMNS_NAMED = 5


def slices_section(slices: Slices | None) -> str:
    """Show the slices that are most significantly worse than the rest, or say that none is."""
    if slices is None:
        return ""
    return worse_slices(
        slices,
        worse="the model is right significantly less often than on all other rows",
        columns=("accuracy", "others"),
        shown=share,
    )


def worse_slices(slices: Slices, *, worse: str, columns: tuple[str, str], shown: Callable[[float], str]) -> str:
    """Show the slices that are most significantly worse than the rest, or say that none is.

    Args:
        worse: how the slices are worse, as the end of a sentence.
        columns: the names of the columns with the figure of a slice, and of the other rows.
        shown: writes the figure that belongs to a share of right rows.
    """
    if not slices.looked_at:
        return (
            "<p>There was no slice to look at. A slice needs at least "
            f"{_FEWEST}, and at least as many other rows to compare it with.</p>"
        )
    looked_at = f"{counted(slices.looked_at, 'slice was', 'slices were')} looked at: {_kinds(slices)}."
    if not slices.significantly_worse:
        return f"<p>No slice of these rows is significantly worse than the rest. {looked_at}</p>"
    rows = [
        (
            escape(slice_name(each)),
            [
                f"{each.rows:,}",
                f"{shown(each.accuracy.value)}<small>{_interval(each.accuracy, shown)}</small>",
                shown(each.accuracy_of_rest),
                p_value(each.corrected_p).removeprefix("p ").removeprefix("= "),
            ],
        )
        for each in slices.listed[: min(_SHOWN, slices.significantly_worse)]
    ]
    return (
        f"<p>On {counted(slices.significantly_worse, 'slice')}, {worse}. {looked_at}</p>"
        '<p class="soft">Slices overlap: one cause may show in several. A slice says where to read, not why the '
        "answers are wrong. If you change the model because of one, measure again on other rows.</p>"
        + table(
            "The most significant slices, those with p below .05. Intervals: 95%, Wilson. p: Fisher’s "
            "exact test, one-sided, corrected by Benjamini–Hochberg for all slices that were looked at.",
            ("slice", "rows", *columns, "p"),
            rows,
        )
    )


def _interval(accuracy: Estimate, shown: Callable[[float], str]) -> str:
    low, high = sorted((shown(accuracy.low), shown(accuracy.high)))
    return f"{low} to {high}"


def _kinds(slices: Slices) -> str:
    """Say by what the rows were sliced."""
    named = [quoted(name) for name in slices.columns[:_COLUMNS_NAMED]]
    more = len(slices.columns) - len(named)
    named += [f"{more:,} more"] if more else []
    columns = (
        f"by the {'column' if len(slices.columns) == 1 else 'columns'} {escape(', '.join(named))}, " if named else ""
    )
    return f"by length, {columns}and by keyword (a word in at least {_FEWEST}, and at most half of them)"


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
