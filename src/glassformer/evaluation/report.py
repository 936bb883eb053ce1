"""The report of an evaluation: one HTML file that needs nothing else."""

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from glassformer.data.files import written_aside
from glassformer.data.table import counted
from glassformer.evaluation.charts import Series, accuracy_chart, axis, heat_map, line_chart, reliability_chart
from glassformer.evaluation.html import page, table
from glassformer.evaluation.reliability import N_BINS
from glassformer.evaluation.result import ClassScores, Comparison, Contestant, Estimate, Evaluation
from glassformer.evaluation.verdict import p_value, share, signed

SHORT_TEXT = 320
LARGEST_TABLE = 10  # classes; a larger confusion matrix is drawn, not written
LARGEST_CONFUSIONS = 12
History = Sequence[Mapping[str, Any]]


def write_report(path: Path, evaluation: Evaluation, history: History | None = None) -> None:
    """Write `report.html`: self-contained, in the reader's light or dark scheme, written aside and renamed.

    Args:
        history: one line per epoch, with `epoch` and any of `train_loss`, `validation_loss`, `train_accuracy`,
            `validation_accuracy`; without it there are no learning curves. The lowest validation loss is marked best.
    """
    with written_aside(path) as aside:
        aside.write_text(render(evaluation, history), encoding="utf-8")


def render(evaluation: Evaluation, history: History | None = None) -> str:
    """The report as a string of HTML; all that came from the user's data is escaped."""
    sections = {
        "duel": ("Beside the baselines", _duel(evaluation)),
        "curves": ("Learning curves", _curves(history) if history else ""),
        "confusion": ("Confusion matrix", _confusion(evaluation)),
        "classes": ("Class by class", _classes(evaluation)),
        "calibration": ("Can the confidence be trusted?", _calibration(evaluation)),
        "errors": ("Worst errors", _errors(evaluation)),
        "dropped": ("Left out, and notes", _dropped(evaluation)),
        "method": ("How this was measured", _method(evaluation)),
    }
    data = evaluation.data
    return page(
        str(evaluation.model.get("name", "model")),
        "report",
        subtitle=f"measured on {escape(data.source)} ({escape(data.split)}, {counted(data.rows, 'row')})",
        headline=_headline(evaluation),
        sections=sections,
        footer=f"glassformer · {evaluation.created}",
    )


def _headline(evaluation: Evaluation) -> str:
    metrics, model = evaluation.metrics, evaluation.duel.model
    figures = {
        "macro F1": share(metrics.macro_f1.value),
        "ROC-AUC": "–" if metrics.roc_auc is None else share(metrics.roc_auc),
        "log loss": f"{metrics.log_loss:.3f}",
        "calibration error": share(evaluation.calibration.after.ece),
        "training": seconds(model.fit_seconds),
        "texts per second": speed(model),
        "size": size(model.size_bytes),
    }
    kind = "subset accuracy" if evaluation.multilabel else "accuracy"
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items() if value != "–")
    return (
        f'<div class="headline"><div class="score">{share(metrics.accuracy.value)}'
        f"<small>{kind} (95%: {_interval(metrics.accuracy)})</small></div>"
        f'<p class="verdict">{escape(evaluation.duel.verdict)}</p></div><dl class="figures">{listed}</dl>'
    )


def _duel(evaluation: Evaluation) -> str:
    contestants = [*evaluation.duel.baselines, evaluation.duel.model]
    head = ("", "accuracy", "macro F1", "ROC-AUC", "log loss", "training", "texts/s", "size")
    rows = []
    for one in contestants:
        cells = [
            f"{share(one.metrics.accuracy.value)}<small>{_interval(one.metrics.accuracy)}</small>",
            _with_interval(one.metrics.macro_f1),
            "–" if one.metrics.roc_auc is None else share(one.metrics.roc_auc),
            f"{one.metrics.log_loss:.3f}",
            seconds(one.fit_seconds),
            speed(one),
            size(one.size_bytes),
        ]
        rows.append((f"{escape(one.name)}<small>{escape(one.description)}</small>", cells))
    remarks = [escape(note) for one in contestants for note in one.notes]
    if evaluation.metrics.roc_auc_missing_because:
        remarks.append(f"ROC-AUC {escape(evaluation.metrics.roc_auc_missing_because)}.")
    return (
        f'<figure class="single">{accuracy_chart(contestants)}</figure>'
        + table("The same rows for all; intervals hold 95%.", head, rows, ours=len(rows) - 1)
        + _list([_comparison(one) for one in evaluation.duel.comparisons] + remarks)
    )


def _comparison(one: Comparison) -> str:
    if not one.only_model_right + one.only_baseline_right:
        return f"Against {escape(one.baseline)}: no row that only one of the two got right."
    return (
        f"Against {escape(one.baseline)}: {counted(one.only_model_right, 'row')} only the model got right, "
        f"{one.only_baseline_right:,} only the baseline; difference {signed(one.difference.value)} "
        f"({signed(one.difference.low)} to {signed(one.difference.high)}), McNemar {p_value(one.mcnemar_p)}."
    )


def _curves(history: History) -> str:
    panels = {
        "Loss": ("train_loss", "validation_loss"),
        "Accuracy": ("train_accuracy", "validation_accuracy"),
    }
    validated = [row for row in history if row.get("validation_loss") is not None]
    best = min(validated, key=lambda row: row["validation_loss"], default=None)
    mark = None if best is None else (float(best["epoch"]), f"best epoch {best['epoch']:g}")
    x = axis("epoch", [row["epoch"] for row in history], whole=True)
    figures = []
    for name, keys in panels.items():
        series = [
            Series(name=key.split("_")[0].replace("train", "training"), style=style, points=points)
            for key, style in zip(keys, ("second", "first"), strict=True)
            if (points := _points(history, key))
        ]
        if not series:
            continue
        y = axis(name.lower(), [value for one in series for _, value in one.points])
        last = ", ".join(
            f"{one.name} {one.points[0][1]:.3f} at first, {one.points[-1][1]:.3f} at last" for one in series
        )
        figures.append(
            f"<figure>{line_chart(f'{name} by epoch', f'{name}: {last}.', series, x, y, mark=mark)}</figure>"
        )
    return f'<div class="pair">{"".join(figures)}</div>' if figures else ""


def _points(history: History, key: str) -> list[tuple[float, float]]:
    pairs = ((row["epoch"], row.get(key)) for row in history)
    return [(float(epoch), float(value)) for epoch, value in pairs if value is not None and math.isfinite(value)]


def _confusion(evaluation: Evaluation) -> str:
    matrix, names = evaluation.confusion, evaluation.class_names
    if matrix is None:
        return ""
    if len(names) > LARGEST_TABLE:
        return f'<figure class="single">{heat_map(matrix, names)}</figure>' + _confusions(matrix, names)
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
    return (
        '<div class="scroll" tabindex="0"><table class="confusion"><caption>True classes down, predicted classes '
        "across: rows, and their share of the true class.</caption>"
        f'<thead><tr><th scope="col">truth, prediction</th>{head}</tr></thead><tbody>{"".join(lines)}</tbody>'
        f"</table></div>{_confusions(matrix, names) if len(names) > 2 else ''}"
    )


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
        (
            escape(one.name),
            [*_scores(one), f"{one.support:,}", f"{one.predicted:,}"],
        )
        for one in metrics.per_class
    ]
    averages = {"macro average": metrics.macro, "weighted average": metrics.weighted, "micro average": metrics.micro}
    for name, scores in averages.items():
        if scores is not None:
            rows.append((name, [share(scores.precision), share(scores.recall), share(scores.f1), "", ""]))
    caption = (
        "Precision: the share of the predicted rows that is right. Recall: the share of the true rows that is found."
    )
    return table(caption, ("class", "precision", "recall", "F1", "true rows", "predicted rows"), rows)


def _scores(one: ClassScores) -> list[str]:
    """Of a class without rows nothing is known."""
    return [share(value) if one.support else "–" for value in (one.precision, one.recall, one.f1)]


def _calibration(evaluation: Evaluation) -> str:
    calibration = evaluation.calibration
    what = "decisions (one per row and label)" if evaluation.multilabel else "answers"
    error = (
        f"{share(calibration.after.ece)}. No temperature was fitted: too few validation rows, or no mistake among them"
        if calibration.temperature == 1
        else f"{share(calibration.before.ece)} before, {share(calibration.after.ece)} after dividing the logits by the "
        f"temperature {calibration.temperature:.3f} found on validation rows"
    )
    return (
        f"<p>Expected calibration error {error}. On the diagonal, a confidence of .8 is right in 80 of 100 cases.</p>"
        f'<figure class="single">{reliability_chart(calibration.before, calibration.after)}'
        f"<figcaption>{N_BINS} bins of equal width; grey bars: how many {what} fall in each, after."
        "</figcaption></figure>"
    )


def _errors(evaluation: Evaluation) -> str:
    if not evaluation.worst_errors:
        return "<p>No row was answered wrongly.</p>"
    items = "".join(
        f'<li><p class="soft">row {one.row:,} · truth <b>{_names(one.truth)}</b> · answered '
        f"<s>{_names(one.prediction)}</s> with confidence {share(one.confidence)}</p>{_text(one.text)}</li>"
        for one in evaluation.worst_errors
    )
    return (
        '<p class="soft">Wrong answers given with the highest confidence: hard texts, or wrong labels.</p>'
        f'<ol class="errors">{items}</ol>'
    )


def _text(text: str) -> str:
    if len(text) <= SHORT_TEXT:
        return f'<div class="text" dir="auto">{escape(text)}</div>'
    return (
        f'<details><summary>Whole text ({len(text):,} characters) <span class="short text" dir="auto"><br>'
        f'{escape(text[:SHORT_TEXT])}…</span></summary><div class="text" dir="auto">{escape(text)}</div></details>'
    )


def _dropped(evaluation: Evaluation) -> str:
    rows = [
        (
            escape(one.reason),
            [
                f"{one.count:,}",
                ", ".join(map(str, one.first_rows)) + (", …" if one.count > len(one.first_rows) else ""),
            ],
        )
        for one in evaluation.dropped
    ]
    listed = (
        table("Rows that took no part.", ("why", "rows", "row numbers"), rows)
        if rows
        else "<p>No row was left out.</p>"
    )
    return listed + _list([escape(note) for note in evaluation.notes])


def _method(evaluation: Evaluation) -> str:
    data, machine = evaluation.data, evaluation.machine
    facts = {
        "data": f"{data.source}, {data.split}, {counted(data.rows, 'row')}",
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
        "A row counts as right when all its labels are; a label is given from a probability of .5 on. "
        if evaluation.multilabel
        else ""
    )
    return (
        f'<dl class="facts">{listed}</dl><p class="soft">{several}Intervals: 95% percentile bootstrap over rows, '
        f"{evaluation.resamples:,} resamples; exact binomial where rows are all right or all wrong; differences are "
        "paired. McNemar’s test is exact and two-sided. Macro averages run over "
        "the classes that occur in the truth or the predictions; ROC-AUC of more than two classes is "
        "the mean of each against the rest; log loss in nats. The baselines learned from the same training rows.</p>"
    )


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


def _names(names: Sequence[str]) -> str:
    return escape(", ".join(names)) if names else "no label"


def _with_interval(estimate: Estimate) -> str:
    """One of no width, as the bootstrap gives where rows are all alike, would claim a certainty that no rows have."""
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


def speed(one: Contestant) -> str:
    if not one.predict_seconds:
        return "–"
    return f"{float(f'{one.metrics.rows / one.predict_seconds:.3g}'):,.0f}"


def size(value: int | None) -> str:
    if value is None:
        return "–"
    return next(
        f"{value / unit:.3g} {name}"
        for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
        if value >= unit or unit == 1
    )
