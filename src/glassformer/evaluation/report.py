"""The report of an evaluation: a single HTML file without links to others."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.data.wording import counted
from glassformer.evaluation.charts import accuracy_chart, heat_map
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report_errors import errors_section
from glassformer.evaluation.report_inputs import inputs_section
from glassformer.evaluation.report_labels import labels_section
from glassformer.evaluation.report_next import next_section
from glassformer.evaluation.report_plots import History, calibration_plots, learning_curves, ranking_curves
from glassformer.evaluation.report_ranks import ranks_section
from glassformer.evaluation.report_review import review_section
from glassformer.evaluation.report_robustness import robustness_section
from glassformer.evaluation.report_slices import slices_section
from glassformer.evaluation.report_thresholds import STYLE as THRESHOLDS_STYLE
from glassformer.evaluation.report_thresholds import thresholds_part
from glassformer.evaluation.result import ClassScores, Comparison, Contestant, Evaluation
from glassformer.evaluation.verdict import p_value, rarely_found, share, signed
from glassformer.explanation.page import MARKED_STYLE
from glassformer.pages.html import asset, page, scrolling, table

LARGEST_TABLE = 10  # classes; a larger confusion matrix is drawn, not written
LARGEST_CONFUSIONS = 12
STYLE = ".errors li:has(> p:only-child) { padding: .25rem 0 0; }"  # rows without texts stand close together


def write_report(path: Path, evaluation: Evaluation, history: History | None = None) -> None:
    """Write `report.html`. The file is self-contained, and replaces an earlier one only when it is complete.

    Args:
        history: a row per epoch for the learning curves, with `epoch` and any of `train_loss`, `validation_loss`,
            `train_accuracy`, `validation_accuracy`. The curves mark the model's `best_epoch`, whose weights were kept.
    """
    write_aside(path, render(evaluation, history))


def render(evaluation: Evaluation, history: History | None = None, *, of_training: bool = False) -> str:
    """Return the report as HTML. Everything from the user's data is escaped.

    Args:
        of_training: the rows are those that training held out. They gave the model its thresholds and its temperature.
    """
    known_errors = bool(evaluation.worst_errors) or evaluation.metrics.accuracy.value == 1
    sections = {
        "next": ("What to do next", next_section(evaluation.next_steps)),
        "duel": ("Both readers", _duel(evaluation) if evaluation.duel.readers else "")
        if of_training
        else ("Compared with baselines", _duel(evaluation)),
        "curves": ("Learning curves", learning_curves(history, evaluation) if history else ""),
        "confusion": ("Confusion matrix", _confusion(evaluation)),
        "ranks": ("How far off?", ranks_section(evaluation)),
        "classes": ("Class by class", _classes(evaluation)),
        "ranking": ("Which threshold?", ranking_curves(evaluation) + thresholds_part(evaluation)),
        "calibration": ("Can the confidence be trusted?", calibration_plots(evaluation)),
        "review": ("Send to a person", review_section(evaluation.review, of_training=of_training)),
        "inputs": ("What each input gives", inputs_section(evaluation.inputs)),
        "slices": ("Where it is worse", slices_section(evaluation.slices)),
        "changes": ("Small changes of the text", robustness_section(evaluation.robustness)),
        "labels": ("Labels to check", labels_section(evaluation.label_doubts)),
        "errors": ("Worst errors", errors_section(evaluation.worst_errors) if known_errors else ""),
        "dropped": ("Left out, and notes", _dropped(evaluation)),
        "method": ("How this was measured", _method(evaluation, of_training=of_training)),
    }
    data = evaluation.data
    return page(
        str(evaluation.model.get("name", "model")),
        "report of training" if of_training else "report",
        subtitle=f"{'Report of training: ' * of_training}measured on {escape(data.source)} ({escape(data.split)}, "
        f"{_rows(evaluation)})",
        headline=_headline(evaluation),
        sections=sections,
        footer=f"glassformer · {evaluation.created}",
        style=MARKED_STYLE + THRESHOLDS_STYLE + STYLE,
        module=asset("evaluation", "thresholds.js") if evaluation.class_thresholds else "",
    )


def _headline(evaluation: Evaluation) -> str:
    metrics, model = evaluation.metrics, evaluation.duel.model
    figures = {
        "macro F1": share(metrics.macro_f1.value),
        "ROC-AUC": "–" if metrics.roc_auc is None else share(metrics.roc_auc),
        "log loss": share(metrics.log_loss),
        "calibration error": share(evaluation.calibration.after.ece),
        "training": seconds(model.fit_seconds),
        "texts per second": speed(model),
        "size": size(model.size_bytes),
    }
    duel = evaluation.duel
    said = "<br>".join(map(escape, filter(None, [duel.verdict, duel.reader_verdict, rarely_found(metrics)])))
    kind = "subset accuracy" if evaluation.multilabel else "accuracy"
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items() if value != "–")
    return (
        f'<div class="headline"><div class="score">{share(metrics.accuracy.value)}'
        f"<small>{kind} (95%: {_interval(metrics.accuracy)})</small></div>"
        f'<p class="verdict">{said}</p></div>'
        f'<dl class="figures">{listed}</dl>'
    )


def _duel(evaluation: Evaluation) -> str:
    duel = evaluation.duel
    contestants = [*duel.baselines, *duel.readers, duel.model]
    head = ("", "accuracy", "macro F1", "ROC-AUC", "log loss", "training", "texts/s", "size")
    rows = []
    for contestant in contestants:
        metrics = contestant.metrics
        cells = [
            f"{share(metrics.accuracy.value)}<small>{_interval(metrics.accuracy)}</small>",
            _with_interval(metrics.macro_f1),
            "–" if metrics.roc_auc is None else share(metrics.roc_auc),
            share(metrics.log_loss),
            seconds(contestant.fit_seconds),
            speed(contestant),
            size(contestant.size_bytes),
        ]
        rows.append((f"{escape(contestant.name)}<small>{escape(contestant.description)}</small>", cells))
    remarks = [escape(note) for contestant in contestants for note in contestant.notes]
    if evaluation.metrics.roc_auc_missing_because:
        remarks.append(f"ROC-AUC {escape(evaluation.metrics.roc_auc_missing_because)}.")
    return (
        accuracy_chart(contestants)
        + table("All were measured on the same rows. Intervals: 95%.", head, rows, ours=len(rows) - 1)
        + _list([_comparison(comparison) for comparison in (*duel.comparisons, *duel.reader_comparisons)] + remarks)
    )


def _comparison(comparison: Comparison) -> str:
    against, difference = f"Against {escape(comparison.baseline)}", comparison.difference
    if not comparison.only_model_right + comparison.only_baseline_right:
        return f"{against}: no row that only one of the two got right."
    return (
        f"{against}: {counted(comparison.only_model_right, 'row')} only the model got right, "
        f"{comparison.only_baseline_right:,} only {escape(comparison.baseline)}; difference {signed(difference.value)} "
        f"({signed(difference.low)} to {signed(difference.high)}), McNemar {p_value(comparison.mcnemar_p)}."
    )


def _confusion(evaluation: Evaluation) -> str:
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


def _classes(evaluation: Evaluation) -> str:
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


def _dropped(evaluation: Evaluation) -> str:
    rows = [
        (
            escape(dropped.reason),
            [
                f"{dropped.count:,}",
                ", ".join(map(str, dropped.first_rows)) + (", …" if dropped.count > len(dropped.first_rows) else ""),
            ],
        )
        for dropped in evaluation.dropped
    ]
    listed = (
        table("Rows that were left out.", ("why", "rows", "row numbers"), rows)
        if rows
        else "<p>No row was left out.</p>"
    )
    return listed + _list([escape(note) for note in evaluation.notes])


def _method(evaluation: Evaluation, *, of_training: bool) -> str:
    data, machine = evaluation.data, evaluation.machine
    facts = {
        "data": f"{data.source}, {data.split}, {_rows(evaluation)}",
        "fingerprint": data.sha256,
        "trained on": data.trained_on,
        "training rows": None if data.training_rows is None else f"{data.training_rows:,}",
        **{key.replace("_", " "): _plain(value) for key, value in evaluation.model.items()},
        "command": evaluation.command or None,
        "seed": str(evaluation.seed),
        "machine": f"{counted(machine.cores, 'core')}, {machine.architecture}, {machine.system}, "
        f"Python {machine.python}",
    }
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{_fact(name, value)}</dd>" for name, value in facts.items() if value is not None
    )
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
        f'<dl class="facts">{listed}</dl><p class="soft">{several}Intervals: 95% percentile bootstrap over rows, '
        f"{evaluation.resamples:,} resamples; exact binomial if all rows are right or all are wrong. Differences are "
        "paired. McNemar’s test is exact and two-sided. Macro averages are means over the classes that occur in the "
        "truth or the predictions. ROC-AUC of more than two classes is the mean of each class against the rest. "
        f"Log loss is in nats. {learned}</p>"
    )


def _rows(evaluation: Evaluation) -> str:
    rows = evaluation.data.rows
    left_out = sum(dropped.count for dropped in evaluation.dropped)
    return f"{rows:,} of {counted(rows + left_out, 'row')}" if left_out else counted(rows, "row")


def _fact(name: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if name in ("command", "fingerprint") else escape(value)


def _plain(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else json.dumps(value)


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>" if items else ""


def _with_interval(estimate: Estimate) -> str:
    """Return the number with its interval. Leave out an interval without width: it would claim too much certainty."""
    width = "" if estimate.low == estimate.high else f"<small>{_interval(estimate)}</small>"
    return share(estimate.value) + width


def _interval(estimate: Estimate) -> str:
    return f"{share(estimate.low)} to {share(estimate.high)}"


def seconds(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 0.1:
        return "< 0.1 s"
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.1f} min" if value < 5400 else f"{value / 3600:.1f} h"


def speed(contestant: Contestant) -> str:
    if not contestant.predict_seconds:
        return "–"
    return f"{float(f'{contestant.metrics.rows / contestant.predict_seconds:.3g}'):,.0f}"


def size(value: int | None) -> str:
    if value is None:
        return "–"
    return next(
        f"{value / unit:.3g} {name}"
        for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
        if value >= unit or unit == 1
    )
