"""The sections of the report of a number about errors: by answer, by slice, and doubtful numbers of training."""

from __future__ import annotations

from html import escape

from glassformer.data.wording import counted, short
from glassformer.evaluation.number_result import AnswerRange, DoubtfulNumber, DoubtfulNumbers, FarOff
from glassformer.evaluation.report_slices import worse_slices
from glassformer.evaluation.verdict import share
from glassformer.pages.html import folded, table


def in_unit(value: float) -> str:
    """Write a number of the user's unit as `short` does, with a minus sign."""
    return short(value).replace("-", "−")


def by_answer_section(parts: tuple[AnswerRange, ...]) -> str:
    """Show whether large answers are farther off than small ones."""
    if not parts:
        return ""
    rows = [
        (
            f"{in_unit(part.low)} to {in_unit(part.high)}",
            [
                f"{part.rows:,}",
                in_unit(part.mae),
                ("+" if part.bias >= 0 else "") + in_unit(part.bias),
                "–" if part.held is None else share(part.held),
            ],
        )
        for part in parts
    ]
    return table(
        "The rows in four parts of equal size, by their answers. Answer − truth: whether the answers are too high (+) "
        "or too low (−) on average. Holds: the share of true numbers in intervals of 90%.",
        ("answer", "rows", "mean absolute error", "answer − truth", "holds"),
        rows,
    )


def far_off_section(found: FarOff | None) -> str:
    """Show the slices where answers are far off most significantly more often, or say that there are none."""
    if found is None:
        return ""
    return worse_slices(
        found.slices,
        worse=f"answers are far off (by more than {in_unit(found.distance)}, as a fifth of all are) significantly more "
        "often than on all other rows",
        columns=("far off", "others"),
        shown=lambda accuracy: share(1 - accuracy),
    )


def doubts_section(doubts: DoubtfulNumbers | None) -> str:
    """Show the most doubtful numbers of training."""
    if doubts is None:
        return ""
    few = len(doubts.listed) < doubts.doubtful
    listed = f" These are the {len(doubts.listed):,} most doubtful ones." if few else ""
    held_out = counted(doubts.rows, "row that was", "rows that were")
    return (
        f"<p>Of {held_out} held out from training, {doubts.doubtful:,} {'has' if doubts.doubtful == 1 else 'have'} a "
        "number that is far from the answer: the error is more than three interquartile ranges beyond the quartiles "
        f"of all errors.{listed} The rows are those of {escape(doubts.source)}.</p>"
        '<p class="soft">Some of these numbers are wrong: a missing decimal point, another unit, another row. Others '
        "are right, and the text does not say so. Read each text before you change its number.</p>"
        f'<ol class="errors">{"".join(map(_doubt, doubts.listed))}</ol>'
    )


def _doubt(each: DoubtfulNumber) -> str:
    said = f"row {each.row:,} · number <s>{escape(each.label)}</s> · answered <b>{in_unit(each.answer)}</b>"
    return f'<li><p class="soft">{said}</p>{"" if each.text is None else folded(each.text)}</li>'
