"""The section of the report on ordered classes: how far off the answers are."""

from html import escape

from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import with_interval
from glassformer.evaluation.verdict import share
from glassformer.pages.html import table
from glassformer.targets.labels.evaluation_result import LabelEvaluation

_LAST_COLUMN = 3  # ranks off; larger distances are added up


def ranks_section(evaluation: LabelEvaluation) -> str:
    """Compare the model and the baselines by the distance of answer and truth."""
    if not evaluation.ranks:
        return ""
    widest = min(_LAST_COLUMN, max(len(each.off_by) for each in evaluation.ranks) - 1)
    head = ["", "mean distance", "Spearman", "kappa", "right"]
    head += [f"{k} off" if k < _LAST_COLUMN else f"{k} or more off" for k in range(1, widest + 1)]
    rows = []
    for each in evaluation.ranks:
        off = [*each.off_by, *[0] * (widest + 1 - len(each.off_by))]
        off = [*off[:widest], sum(off[widest:])]
        cells = [f"{count:,}<small>{share(count / evaluation.metrics.rows)}</small>" for count in off]
        numbers = [with_interval(each.mae), _or_none(each.spearman), _or_none(each.kappa)]
        rows.append((escape(each.name), [*numbers, *cells]))
    order = " &lt; ".join(map(escape, evaluation.class_names))
    return f"<p>The classes have an order: {order}. An answer one class off is better than one two off.</p>" + table(
        "Mean distance: in classes, smaller is better. Spearman: rank correlation of answers and truth. Kappa: "
        "agreement beyond chance, where a distance counts by its square. Intervals: 95%, bootstrap.",
        head,
        rows,
        ours=len(rows) - 1,
    )


def _or_none(estimate: Estimate | None) -> str:
    return "–" if estimate is None else with_interval(estimate)
