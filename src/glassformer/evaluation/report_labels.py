"""The section of the report that shows labels of training that the model doubts."""

from html import escape

from glassformer.data.wording import counted
from glassformer.evaluation.verdict import share
from glassformer.evaluation.weak_spots import DoubtfulLabels, DoubtfulRow
from glassformer.pages.html import folded


def labels_section(doubts: DoubtfulLabels | None) -> str:
    """Show the most doubtful labels, and the command that checks the whole training table."""
    if doubts is None:
        return ""
    check = "" if doubts.command is None else f" To check the whole table, run <code>{escape(doubts.command)}</code>."
    few = len(doubts.listed) < doubts.doubtful
    shown = f" These are the {len(doubts.listed):,} most doubtful ones." if few else ""
    rows = f"{counted(doubts.rows, 'row that was', 'rows that were')} held out from training"
    if doubts.cross_fitted:
        rows = f"{counted(doubts.rows, 'row')}, each answered by a model that had not learned it"
    return (
        f"<p>Of {rows}, {doubts.doubtful:,} {'has' if doubts.doubtful == 1 else 'have'} a "
        f"label that the model doubts (confident learning).{shown} The rows are those of {escape(doubts.source)}.</p>"
        '<p class="soft">Some of these labels are wrong. Others are right, and the text is hard. Read each text before '
        f'you change its label.{check}</p><ol class="errors">{"".join(map(_doubt, doubts.listed))}</ol>'
    )


def _doubt(each: DoubtfulRow) -> str:
    said = (
        f"row {each.row:,} · label <s>{escape(each.label)}</s> · suggested <b>{escape(each.suggested)}</b> with "
        f"probability {share(each.probability)}"
    )
    return f'<li><p class="soft">{said}</p>{"" if each.text is None else folded(each.text)}</li>'
