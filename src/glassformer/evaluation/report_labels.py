"""The section of the report that shows rows of training that the model doubts."""

from collections.abc import Callable
from html import escape
from typing import Any

from glassformer.data.wording import counted
from glassformer.evaluation.weak_spots import DoubtfulRows
from glassformer.pages.html import folded


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
