"""How the evaluation of a model of labels is shown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from glassformer.data.wording import counted
from glassformer.evaluation.charts import heat_map
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import Look, with_interval, worst_errors_section
from glassformer.evaluation.report_sections import doubts_section, inputs_section, robustness_section, slices_section
from glassformer.evaluation.result import Calibration, ClassScores, Review
from glassformer.evaluation.verdict import how_far_off, interval, p_value, rarely_found, share, signed, where_worse
from glassformer.evaluation.weak_spots import ErrorReasons, Robustness, TextChange, WorstError
from glassformer.explanation.page import MARKED_STYLE, marked
from glassformer.explanation.pieces import pieces_of
from glassformer.pages.html import asset, folded, scrolling, table
from glassformer.targets.labels.evaluation_report_plots import calibration_plots, ranking_curves
from glassformer.targets.labels.evaluation_report_review import review_section
from glassformer.targets.labels.evaluation_report_thresholds import STYLE as THRESHOLDS_STYLE
from glassformer.targets.labels.evaluation_report_thresholds import thresholds_part
from glassformer.targets.labels.evaluation_result import (
    DoubtfulLabel,
    LabelComparison,
    LabelContestant,
    LabelEvaluation,
)

LARGEST_TABLE = 10  # classes; a larger confusion matrix is drawn, not written
LARGEST_CONFUSIONS = 12
_LAST_COLUMN = 3  # ranks off; larger distances are added up


def _sections(evaluation: LabelEvaluation, *, of_training: bool) -> dict[str, tuple[str, str]]:
    known_errors = bool(evaluation.worst_errors) or evaluation.metrics.accuracy.value == 1
    return {
        "confusion": ("Confusion matrix", _confusion(evaluation)),
        "ranks": ("How far off?", ranks_section(evaluation)),
        "classes": ("Class by class", _classes(evaluation)),
        "ranking": ("Which threshold?", ranking_curves(evaluation) + thresholds_part(evaluation)),
        "calibration": ("Can the confidence be trusted?", calibration_plots(evaluation)),
        "review": ("Send to a person", review_section(evaluation.review, of_training=of_training)),
        "inputs": (
            "What each input gives",
            inputs_section(evaluation.inputs, "accuracy", lambda each: (each.accuracy, each.accuracy_without)),
        ),
        "slices": ("Where it is worse", slices_section(evaluation.slices)),
        "changes": ("Small changes of the text", _changes(evaluation.robustness)),
        "labels": (
            "Labels to check",
            doubts_section(
                evaluation.label_doubts,
                "a label that the model doubts (confident learning)",
                "Some of these labels are wrong. Others are right, and the text is hard. Read each text before you "
                "change its label.",
                _doubt,
            ),
        ),
        "errors": ("Worst errors", errors_section(evaluation.worst_errors) if known_errors else ""),
    }


def _changes(found: Robustness[TextChange] | None) -> str:
    return robustness_section(
        found,
        ("answers changed", "accuracy before", "accuracy after"),
        lambda each: [
            with_interval(each.answers_changed),
            share(each.accuracy_before),
            "–" if each.accuracy_after is None else share(each.accuracy_after),
        ],
        names,
    )


def _doubt(each: DoubtfulLabel) -> str:
    return (
        f"label <s>{escape(each.label)}</s> · suggested <b>{escape(each.suggested)}</b> with probability "
        f"{share(each.probability)}"
    )


def _figures(evaluation: LabelEvaluation) -> dict[str, str]:
    metrics = evaluation.metrics
    return {
        "macro F1": share(metrics.macro_f1.value),
        "ROC-AUC": "–" if metrics.roc_auc is None else share(metrics.roc_auc),
        "log loss": share(metrics.log_loss),
        "calibration error": share(evaluation.calibration.after.ece),
    }


def _cells(contestant: LabelContestant) -> list[str]:
    metrics = contestant.metrics
    return [
        f"{share(metrics.accuracy.value)}<small>{interval(metrics.accuracy)}</small>",
        _with_interval(metrics.macro_f1),
        "–" if metrics.roc_auc is None else share(metrics.roc_auc),
        share(metrics.log_loss),
    ]


def _plain_cells(contestant: LabelContestant) -> list[str]:
    metrics, accuracy = contestant.metrics, contestant.metrics.accuracy
    figures = (metrics.macro_f1.value, metrics.log_loss)
    span = f"{accuracy.low:.4f}-{accuracy.high:.4f}"
    return [f"{accuracy.value:.4f}", span, *(f"{value:.4f}" for value in figures)]


def _sentences(evaluation: LabelEvaluation) -> list[str | None]:
    metrics, calibration = evaluation.metrics, evaluation.calibration
    auc = "" if metrics.roc_auc is None else f"ROC-AUC {metrics.roc_auc:.4f}, "
    return [
        f"{auc}calibration error {calibration.after.ece:.4f}{_temperature(calibration)}",
        None if evaluation.review is None else _of_the_surest(evaluation.review),
        evaluation.duel.verdict,
        evaluation.duel.reader_verdict,
        how_far_off(evaluation.ranks) if evaluation.ranks else None,
        rarely_found(metrics),
        where_worse(evaluation.slices),
    ]


def _of_the_surest(review: Review) -> str:
    """Say how much is wrong if the surest 90% of the answers are given automatically."""
    surest = next(each for each in review.shares if each.asked == 0.9)
    said = f"of the surest 90% of these answers, {surest.error.value:.1%} are wrong"
    if (found := surest.threshold) is None or found.error is None:
        return said
    return (
        f"{said}; with the threshold of held-out rows (`automatic=0.9`), {found.coverage.value:.1%} are automatic, and "
        f"{found.error.value:.1%} of these are wrong"
    )


def _temperature(calibration: Calibration) -> str:
    """Say what the temperature changed. A temperature of 1.00 changed nothing."""
    if calibration.temperature == 1:
        return " (no temperature was fitted)"
    shown = f"{calibration.temperature:.2f}"
    return "" if shown == "1.00" else f" ({calibration.before.ece:.4f} before the temperature of {shown})"


def _comparison(comparison: LabelComparison) -> str:
    against, difference = f"Against {escape(comparison.baseline)}", comparison.difference
    if not comparison.only_model_right + comparison.only_baseline_right:
        return f"{against}: no row that only one of the two got right."
    return (
        f"{against}: {counted(comparison.only_model_right, 'row')} only the model got right, "
        f"{comparison.only_baseline_right:,} only {escape(comparison.baseline)}; difference {signed(difference.value)} "
        f"({signed(difference.low)} to {signed(difference.high)}), McNemar {p_value(comparison.mcnemar_p)}."
    )


def _confusion(evaluation: LabelEvaluation) -> str:
    matrix, names = evaluation.confusion, evaluation.class_names
    if matrix is None:
        return ""
    if len(names) > LARGEST_TABLE:
        return scrolling(f"<figure>{heat_map(matrix, names)}</figure>") + _confusions(matrix, names)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    lines = []
    for i, line in enumerate(matrix):
        total = sum(line)
        cells = "".join(
            f'<td class="{"right" if i == j else "wrong"}" style="--share:{count / (total or 1):.3f}">{count:,}'
            f"<small>{share(count / total) if total else '–'}</small></td>"
            for j, count in enumerate(line)
        )
        lines.append(f'<tr><th scope="row">{escape(names[i])}</th>{cells}</tr>')
    drawn = (
        '<table class="confusion"><caption>True classes down, predicted classes across: rows, and their share of the '
        f'true class.</caption><thead><tr><th scope="col">truth, prediction</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    return scrolling(drawn) + (_confusions(matrix, names) if len(names) > 2 else "")


def _confusions(matrix: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    wrong = [(count, i, j) for i, line in enumerate(matrix) for j, count in enumerate(line) if i != j and count]
    wrong.sort(key=lambda cell: -cell[0])
    rows = [
        (escape(names[i]), [escape(names[j]), f"{count:,}", share(count / sum(matrix[i]))])
        for count, i, j in wrong[:LARGEST_CONFUSIONS]
    ]
    return table("The largest confusions.", ("truth", "taken for", "rows", "of the class"), rows) if rows else ""


def _classes(evaluation: LabelEvaluation) -> str:
    metrics = evaluation.metrics
    rows = [
        (escape(scores.name), [*_scores(scores), _average(scores), f"{scores.support:,}", f"{scores.predicted:,}"])
        for scores in metrics.per_class
    ]
    averages = {"macro average": metrics.macro, "weighted average": metrics.weighted, "micro average": metrics.micro}
    foot = [
        (name, [*map(_bar, (scores.precision, scores.recall, scores.f1)), "", "", ""])
        for name, scores in averages.items()
        if scores is not None
    ]
    caption = (
        "Precision: the share of the predicted rows that is right. Recall: the share of the true rows that is found. "
        "Average precision: the mean precision over all thresholds. Click a heading to sort."
    )
    head = ("class", "precision", "recall", "F1", "average precision", "true rows", "predicted rows")
    return table(caption, head, rows, foot=foot, sortable=True)


def _scores(scores: ClassScores) -> list[str]:
    """Return the cells of a class; a class without rows has no scores."""
    return [_bar(value) if scores.support else "–" for value in (scores.precision, scores.recall, scores.f1)]


def _average(scores: ClassScores) -> str:
    return "–" if scores.average_precision is None else _bar(scores.average_precision)


def _bar(value: float) -> str:
    """Return a share with a bar of this length."""
    return f'{share(value)}<i class="meter" style="--share:{value:.3f}"></i>'


def _with_interval(estimate: Estimate) -> str:
    """Return the number with its interval. Leave out an interval without width: it would claim too much certainty."""
    width = "" if estimate.low == estimate.high else f"<small>{interval(estimate)}</small>"
    return share(estimate.value) + width


def _remarks(evaluation: LabelEvaluation) -> list[str]:
    because = evaluation.metrics.roc_auc_missing_because
    return [] if because is None else [f"ROC-AUC {escape(because)}."]


def _method(evaluation: LabelEvaluation, *, of_training: bool) -> str:
    several = (
        "A row is right if all its labels are right. A label is given from a probability of .5 on. "
        if evaluation.multilabel
        else ""
    )
    learned = (
        "The rows were not learned, but they were used to choose between models, so the figures are a little too good."
        if of_training
        else "The baselines were trained on all rows that the model, or the teacher of a student, saw: training and "
        "validation rows."
    )
    return (
        f"{several}Intervals: 95% percentile bootstrap over rows, {evaluation.resamples:,} resamples; exact binomial "
        "if all rows are right or all are wrong. Differences are paired. McNemar’s test is exact and two-sided. Macro "
        "averages are means over the classes that occur in the truth or the predictions. ROC-AUC of more than two "
        "classes is the mean of each class against the rest. "
        f"Log loss is in nats. {learned}"
    )


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


PART = Look(
    leading=lambda evaluation: "subset accuracy" if evaluation.multilabel else "accuracy",
    figures=_figures,
    headline=lambda evaluation: [rarely_found(evaluation.metrics)],
    columns=("accuracy", "macro F1", "ROC-AUC", "log loss"),
    cells=_cells,
    caption="All were measured on the same rows. Intervals: 95%.",
    plain=("accuracy", "95% interval", "macro F1", "log loss"),
    plain_cells=_plain_cells,
    sentences=_sentences,
    comparison=_comparison,
    remarks=_remarks,
    sections=_sections,
    method=_method,
    script=lambda evaluation: asset("evaluation", "thresholds.js") if evaluation.class_thresholds else "",
    style=MARKED_STYLE + THRESHOLDS_STYLE,
)
