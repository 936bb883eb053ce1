"""How the evaluation of a model of labels is shown. `number/evaluation_report.py` shows that of a number."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from glassformer.data.wording import share_in_percent
from glassformer.evaluation.charts import (
    Series,
    axis,
    confidence_chart,
    line_chart,
    reliability_chart,
    square_chart,
    svg,
    unit_axis,
)
from glassformer.evaluation.result import Calibration, ClassCurve, ClassThresholds, RankMeasures, Review
from glassformer.evaluation.review import BY_CLASS
from glassformer.evaluation.verdict import how_far_off, interval, share, signed, where_worse
from glassformer.evaluation.weak_spots import WorstError
from glassformer.explanation.page import marked
from glassformer.explanation.shares import pieces_of
from glassformer.targets.costs import in_words
from glassformer.targets.labels.evaluation_levels import level_by_level
from glassformer.targets.labels.evaluation_result import CostFigures, LabelContestant, LabelEvaluation

LARGEST_TABLE = 10  # classes; a larger confusion matrix is drawn, not written
LARGEST_CONFUSIONS = 12
_LAST_COLUMN = 3  # ranks off; larger distances are added up
_LONGEST_NAME = 36  # letters of a class above its curve
_AIM = 0.9
Point = tuple[float, int, int]
COLUMNS = ("accuracy", "macro F1", "ROC-AUC", "log loss")
"""Those of the table of contestants in the report. The template writes their cells."""
PLAIN = ("accuracy", "95% interval", "macro F1", "log loss")
"""Those in the terminal."""


def leading(evaluation: LabelEvaluation) -> str:
    """Name the figure by which contestants are compared."""
    return "subset accuracy" if evaluation.multilabel else "accuracy"


def figures(evaluation: LabelEvaluation) -> dict[str, str]:
    metrics = evaluation.metrics
    return {
        "macro F1": share(metrics.macro_f1.value),
        "ROC-AUC": "–" if metrics.roc_auc is None else share(metrics.roc_auc),
        "log loss": share(metrics.log_loss),
        "calibration error": share(evaluation.calibration.after.ece),
    }


def plain_cells(contestant: LabelContestant) -> list[str]:
    metrics, accuracy = contestant.metrics, contestant.metrics.accuracy
    figures = (metrics.macro_f1.value, metrics.log_loss)
    span = f"{accuracy.low:.4f} to {accuracy.high:.4f}"
    return [f"{accuracy.value:.4f}", span, *(f"{value:.4f}" for value in figures)]


def sentences(evaluation: LabelEvaluation) -> list[str | None]:
    metrics, calibration = evaluation.metrics, evaluation.calibration
    auc = "" if metrics.roc_auc is None else f"ROC-AUC {metrics.roc_auc:.4f}, "
    return [
        f"{auc}calibration error {calibration.after.ece:.4f}{_temperature(calibration)}",
        None if evaluation.review is None else _of_the_surest(evaluation.review),
        None if evaluation.costs is None else _what_they_cost(evaluation.costs, metrics.rows),
        evaluation.duel.verdict,
        evaluation.duel.reader_verdict,
        how_far_off(evaluation.ranks) if evaluation.ranks else None,
        level_by_level(evaluation.levels) if evaluation.levels else None,
        metrics.remark,
        next((step.on_one_line for step in evaluation.next_steps if step.section == "classes"), None),
        where_worse(evaluation.slices),
        None if evaluation.rules is None else evaluation.rules.sentence,
    ]


def _of_the_surest(review: Review) -> str:
    """Say how much is wrong if the surest 90% of the answers are given automatically."""
    surest = next(each for each in review.shares if each.asked == 0.9)
    if (found := surest.threshold) is None or found.error is None:
        return f"of the surest 90% of these answers, {share_in_percent(surest.error.value)} are wrong"
    return (
        f"with `automatic=0.9`, a person answers {share_in_percent(1 - found.coverage.value)} of these texts; of the "
        f"model's answers to the others, {share_in_percent(found.error.value)} are wrong"
    )


def _what_they_cost(costs: CostFigures, rows: int) -> str:
    """Say what a row costs, and how much more it would cost if the answers were the most probable ones."""
    other = costs.others[0]
    asked = f"; a person is asked about {share_in_percent(costs.asked / rows)} of the rows" if costs.asked else ""
    return (
        f"mean cost {share(costs.mean.value)} ({interval(costs.mean)}); without your costs {share(other.mean.value)} "
        f"({signed(other.more.value)}, 95% interval {signed(other.more.low)} to {signed(other.more.high)}){asked}"
    )


def _temperature(calibration: Calibration) -> str:
    """Say what the temperature changed. A temperature of 1.00 changed nothing."""
    if calibration.temperature == 1:
        return " (no temperature was fitted)"
    shown = f"{calibration.temperature:.2f}"
    return "" if shown == "1.00" else f" ({calibration.before.ece:.4f} before the temperature of {shown})"


def shown(evaluation: LabelEvaluation) -> dict[str, Any]:
    """Return what the template asks for besides."""
    matrix, names, review = evaluation.confusion, evaluation.class_names, evaluation.review
    classes = evaluation.class_thresholds
    shown: dict[str, Any] = {
        "largest_table": LARGEST_TABLE,
        "svg": svg,
        "confusions": [] if matrix is None else _confusions(matrix, names),
        "ranking": _ranking(evaluation),
        "class_curves": [_class_curve(number, each) for number, each in enumerate(evaluation.class_curves, 1)],
        "thresholds": [line for each in classes for line in threshold_lines(each)],
        "chooser": _chooser(evaluation),
        "cost_words": None if evaluation.costs is None else in_words(evaluation.costs.rows),
        "calibration_charts": _calibration_charts(evaluation),
        "by_class": BY_CLASS,
        "names_of": lambda labels: ", ".join(labels) or "no label",
        "errors_explained": sum(error.reasons is not None for error in evaluation.worst_errors),
        "marked_words": _marked_words,
    }
    if evaluation.ranks:
        shown["distances_head"], shown["distances"] = _distances(evaluation.ranks)
    if review is not None:
        shown |= {"risk_chart": _risk_chart(review), "got_chart": _got_chart(review)}
    return shown


def _confusions(matrix: Sequence[Sequence[int]], names: Sequence[str]) -> list[tuple[str, str, int, float]]:
    """Return the largest confusions: truth, answer, rows, and their share of the true class."""
    wrong = [(count, i, j) for i, line in enumerate(matrix) for j, count in enumerate(line) if i != j and count]
    wrong.sort(key=lambda cell: -cell[0])
    return [(names[i], names[j], count, count / sum(matrix[i])) for count, i, j in wrong[:LARGEST_CONFUSIONS]]


def _chooser(evaluation: LabelEvaluation) -> str:
    """Return what the slider over thresholds needs. It begins at the cost of a missed row."""
    costs = () if evaluation.costs is None else evaluation.costs.rows
    missed = {row.truth: row.cost for row in costs if row.answer is None}
    classes = [each.model_dump() | {"cost": missed.get(each.name, 1)} for each in evaluation.class_thresholds]
    return json.dumps({"rows": evaluation.metrics.rows, "classes": classes})


def _distances(ranks: Sequence[RankMeasures]) -> tuple[list[str], list[tuple[RankMeasures, list[int]]]]:
    """Return the head of the table of distances; and beside each contestant, how many rows are how far off."""
    widest = min(_LAST_COLUMN, max(len(each.off_by) for each in ranks) - 1)
    head = ["", "mean distance", "Spearman", "kappa", "right"]
    head += [f"{k} off" if k < _LAST_COLUMN else f"{k} or more off" for k in range(1, widest + 1)]
    counts = [[*each.off_by, *[0] * (widest + 1 - len(each.off_by))] for each in ranks]
    return head, [(each, [*off[:widest], sum(off[widest:])]) for each, off in zip(ranks, counts, strict=True)]


def _ranking(evaluation: LabelEvaluation) -> dict[str, Any]:
    """Draw the precision–recall and ROC curves of the model and of the best baseline."""
    ours = evaluation.duel.model.ranking
    if ours is None:
        return {}
    rivals = [each for each in evaluation.duel.baselines if each.ranking is not None and each.fit_seconds is not None]
    best = max(rivals, key=lambda each: each.metrics.accuracy.value, default=None)
    shown = [(evaluation.duel.model.name, "first", ours)]
    if best is not None and best.ranking is not None:
        shown.append((best.name, "second", best.ranking))
    roc = [Series(name=name, style=style, points=found.curves.roc) for name, style, found in shown]
    precision = [Series(name=name, style=style, points=found.curves.precision_recall) for name, style, found in shown]
    averages = ", ".join(f"{name} {share(found.curves.average_precision)}" for name, _, found in shown)
    charts = [
        square_chart("Precision and recall", f"Average precision: {averages}.", precision, x="recall", y="precision"),
        square_chart(
            "ROC curve",
            "True positive rate against false positive rate; chance lies on the diagonal.",
            roc,
            x="false positive rate",
            y="true positive rate (recall)",
            diagonal=True,
        ),
    ]
    return {"averages": averages, "charts": charts}


def _class_curve(number: int, found: ClassCurve) -> str:
    """Draw the precision–recall curve of one of the rarest classes."""
    name = found.name if len(found.name) <= _LONGEST_NAME else f"{found.name[: _LONGEST_NAME - 1]}…"
    return square_chart(
        f"Precision and recall, class {number}: {found.name}",
        f"Average precision {share(found.average_precision)}; chance: {share(found.base_rate)}.",
        [Series(name=f"{name}, AP {share(found.average_precision)}", style="first", points=found.points)],
        x="recall",
        y="precision",
    )


def _calibration_charts(evaluation: LabelEvaluation) -> tuple[str, str]:
    calibration = evaluation.calibration
    before = None if calibration.temperature == 1 else calibration.before
    what = "decisions" if evaluation.multilabel else "answers"
    return reliability_chart(before, calibration.after), confidence_chart(calibration.after, what)


def _risk_chart(review: Review) -> str:
    y = axis("share wrong", [0.0, *(error for _, error in review.curve)])
    said = ", ".join(f"{share(each.error.value)} of the surest {each.asked:.0%}" for each in review.shares)
    applied = next((each.threshold for each in review.shares if each.asked == BY_CLASS), None)
    return line_chart(
        "Risk–coverage curve",
        f"Share of wrong answers among the surest ones: {said}.",
        [Series(name="wrong among the automatic answers", style="first", points=review.curve)],
        unit_axis("share answered automatically"),
        y,
        mark=None if applied is None else (applied.coverage.value, f"threshold for {BY_CLASS:.0%}"),
    )


def _got_chart(review: Review) -> str:
    lines = [Series(name="automatic answers", style="first", points=review.coverage_got)]
    if review.sets_got:
        lines.append(Series(name="sets with the right label", style="second", points=review.sets_got))
    return square_chart(
        "Asked and got",
        "The share that was asked for, by held-out rows of training, and what it became here. If both are the same, "
        "the point lies on the diagonal.",
        lines,
        x="asked",
        y="got",
        diagonal=True,
    )


def threshold_lines(each: ClassThresholds) -> list[tuple[str, str, list[str]]]:
    """Return three thresholds for a class: its name, the aim, and what it finds, blank if none reaches the aim."""
    aims: dict[str, Callable[[Point], tuple[float, ...]]] = {
        "highest F1": lambda point: (2 * point[1] / (point[2] + each.rows),),
        f"precision of at least {share(_AIM)}": lambda point: (_precision(point) >= _AIM, point[1], _precision(point)),
        f"recall of at least {share(_AIM)}": lambda point: (_recall(each, point) >= _AIM, _precision(point)),
    }
    lines = []
    for aim, worth in aims.items():
        best = max(each.points, key=worth)
        lines.append((each.name, aim, _found_by(each, best) if worth(best)[0] > 0 else ["–"] * 6))
    return lines


def _found_by(each: ClassThresholds, point: Point) -> list[str]:
    threshold, right, found = point
    counts = (f"{right:,} of {each.rows:,}", f"{found - right:,}", f"{each.rows - right:,}")
    return [f"{threshold:.6f}".removeprefix("0"), share(_precision(point)), share(_recall(each, point)), *counts]


def _precision(point: Point) -> float:
    return point[1] / point[2]


def _recall(each: ClassThresholds, point: Point) -> float:
    return point[1] / each.rows


def _marked_words(error: WorstError) -> Markup:
    """Return the text of an explained error with each word marked by its share."""
    assert error.reasons is not None
    return Markup("").join(map(marked, pieces_of(error.text, error.reasons.words)))
