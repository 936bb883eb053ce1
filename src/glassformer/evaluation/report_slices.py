"""The section of the report that says where the model is worse than elsewhere."""

from collections.abc import Callable
from html import escape

from glassformer.data.wording import counted
from glassformer.errors import quoted
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.slices import FEWEST_ROWS
from glassformer.evaluation.verdict import p_value, share, slice_name
from glassformer.evaluation.weak_spots import Slices
from glassformer.pages.html import table

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
