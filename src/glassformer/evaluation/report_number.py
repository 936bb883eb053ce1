"""The report of the evaluation of a model of a number: a single HTML file without links to others."""

from __future__ import annotations

from html import escape
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.data.inputs import shown
from glassformer.data.wording import counted
from glassformer.evaluation.charts import HEIGHT, Dot, axis, frame, interval_charts, svg, x_at, y_at
from glassformer.evaluation.evaluate_number import ASKED, in_r2
from glassformer.evaluation.number_result import NumberContestant, NumberError, NumberEvaluation
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import STYLE, seconds, size
from glassformer.evaluation.report_errors import WITHOUT_TEXTS
from glassformer.evaluation.report_inputs import number_inputs_section
from glassformer.evaluation.report_next import next_section
from glassformer.evaluation.report_number_errors import by_answer_section, doubts_section, far_off_section, in_unit
from glassformer.evaluation.report_review import with_interval
from glassformer.evaluation.verdict import share
from glassformer.pages.html import folded, page, table
from glassformer.targets.number.target import rows_needed


def write_number_report(path: Path, evaluation: NumberEvaluation) -> None:
    """Write `report.html`. It replaces an earlier one only when it is complete."""
    write_aside(path, render_number(evaluation))


def render_number(evaluation: NumberEvaluation, *, of_training: bool = False) -> str:
    """Return the report as HTML. Everything from the user's data is escaped.

    Args:
        of_training: the rows are those that training held out. They gave the model its intervals and its weights.
    """
    data, kind = evaluation.data, "report of training" if of_training else "report"
    sections = {
        "next": ("What to do next", next_section(evaluation.next_steps)),
        "duel": ("Both readers", _duel(evaluation) if evaluation.duel.readers else "")
        if of_training
        else ("Compared with baselines", _duel(evaluation)),
        "scatter": ("Answers and truth", _scatter(evaluation)),
        "intervals": ("Do the intervals hold?", "" if of_training else _intervals(evaluation)),
        "by-answer": ("How far off, by answer", by_answer_section(evaluation.by_answer)),
        "slices": ("Where it is worse", far_off_section(evaluation.far_off)),
        "inputs": ("What each input gives", number_inputs_section(evaluation.inputs)),
        "doubts": ("Numbers to check", doubts_section(evaluation.doubts)),
        "errors": ("Worst errors", _errors(evaluation)),
        "dropped": ("Left out, and notes", _dropped(evaluation)),
        "method": ("How this was measured", _method(evaluation, of_training=of_training)),
    }
    return page(
        str(evaluation.model.get("name", "model")),
        kind,
        subtitle=f"{'Report of training: ' * of_training}{escape(evaluation.target)}, measured on "
        f"{escape(data.source)} ({escape(data.split)}, {counted(data.rows, 'row')})",
        headline=_headline(evaluation),
        sections=sections,
        footer=f"glassformer · {evaluation.created}",
        style=STYLE,
    )


def _unit_interval(estimate: Estimate) -> str:
    return f"{in_unit(estimate.value)}<small>{in_unit(estimate.low)} to {in_unit(estimate.high)}</small>"


def _headline(evaluation: NumberEvaluation) -> str:
    metrics, model = evaluation.metrics, evaluation.duel.model
    figures = {
        "mean absolute error": in_unit(metrics.mae.value),
        "root mean squared error": in_unit(metrics.rmse.value),
        "Spearman": "–" if metrics.spearman is None else share(metrics.spearman.value),
        "training": seconds(model.fit_seconds),
        "size": size(model.size_bytes),
    }
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items() if value != "–")
    low, high = in_r2(metrics.r2.low), in_r2(metrics.r2.high)
    return (
        f'<div class="headline"><div class="score">{in_r2(metrics.r2.value)}<small>R² (95%: {low} to {high})</small>'
        f'</div><p class="verdict">{escape(evaluation.duel.verdict)}</p></div><dl class="figures">{listed}</dl>'
    )


def _duel(evaluation: NumberEvaluation) -> str:
    duel = evaluation.duel
    contestants = [*duel.baselines, *duel.readers, duel.model]
    ours = len(contestants) - 1
    dots = [
        Dot(name=each.name, estimate=each.metrics.r2, style="first" if i == ours else "second")
        for i, each in enumerate(contestants)
    ]
    head = ("", "R²", "mean absolute error", "RMSE", "Spearman", "training", "size")
    caption = (
        "All were measured on the same rows. R²: the share of the variance that the answers explain; 0 is always "
        "answering the mean. RMSE: the root of the mean squared error. Intervals: 95%, bootstrap."
    )
    said = "".join(f"<li>{escape(each.verdict)}</li>" for each in duel.comparisons)
    return (
        interval_charts("R² of each contestant", "R² with 95% interval", dots)
        + table(caption, head, [_line(each) for each in contestants], ours=ours)
        + (f"<ul>{said}</ul>" if said else "")
    )


def _line(contestant: NumberContestant) -> tuple[str, list[str]]:
    metrics = contestant.metrics
    return (
        f"{escape(contestant.name)}<small>{escape(contestant.description)}</small>",
        [
            f"{in_r2(metrics.r2.value)}<small>{in_r2(metrics.r2.low)} to {in_r2(metrics.r2.high)}</small>",
            _unit_interval(metrics.mae),
            _unit_interval(metrics.rmse),
            "–" if metrics.spearman is None else with_interval(metrics.spearman),
            seconds(contestant.fit_seconds),
            size(contestant.size_bytes),
        ],
    )


def _scatter(evaluation: NumberEvaluation) -> str:
    values = [value for point in evaluation.points for value in point]
    x, y = axis("truth", values), axis("answer", values)
    dots = "".join(
        f'<circle class="first" cx="{x_at(truth, x):.1f}" cy="{y_at(answer, y):.1f}" r="2" fill-opacity=".35" '
        f'stroke-opacity="0"><title>truth {in_unit(truth)}, answer {in_unit(answer)}</title></circle>'
        for truth, answer in evaluation.points
    )
    low, high = max(x.low, y.low), min(x.high, y.high)
    diagonal = (
        f'<line class="mark" x1="{x_at(low, x):.1f}" y1="{y_at(low, y):.1f}" x2="{x_at(high, x):.1f}" '
        f'y2="{y_at(high, y):.1f}"/>'
    )
    shown = len(evaluation.points)
    of_all = "every row" if shown == evaluation.metrics.rows else f"{shown:,} of {evaluation.metrics.rows:,} rows"
    drawn = svg(
        "Answers and truth",
        f"A dot for {of_all}: x is the true number, y the answer. Right answers lie on the diagonal.",
        [frame(x, y), diagonal, dots],
        height=HEIGHT,
    )
    return (
        f'<p class="soft">A dot for {of_all}. On the dashed line, answer and truth are the same. Answers vary less '
        'than the truth: a model that is not sure answers near the mean.</p><div class="pair"><figure>'
        f"{drawn}</figure></div>"
    )


def _intervals(evaluation: NumberEvaluation) -> str:
    missing = [asked for asked in ASKED if asked not in {each.asked for each in evaluation.intervals}]
    needs = ", ".join(f"{asked:.0%} need at least {rows_needed(asked)}" for asked in missing)
    without = f"<p>Too few rows were held out in training for all intervals: those of {needs}.</p>" if missing else ""
    if not evaluation.intervals:
        return without
    rows = [
        (f"{each.asked:.0%}", [f"± {in_unit(each.distance)}", with_interval(each.coverage)])
        for each in evaluation.intervals
    ]
    return (
        '<p class="soft">The width of an interval comes from held-out rows of training. The measured rows never '
        "choose an interval, so they can check it. All texts have intervals of the same width.</p>"
        + table(
            "Should hold: the share of true numbers that intervals should contain. Holds: the share of the measured "
            "rows whose number lies in the interval; 95% intervals.",
            ("should hold", "answer", "holds"),
            rows,
        )
        + without
    )


def _errors(evaluation: NumberEvaluation) -> str:
    if not evaluation.worst_errors:
        return ""
    items = "".join(
        f'<li><p class="soft">row {error.row:,} · truth <b>{in_unit(error.truth)}</b> · answered '
        f"<s>{in_unit(error.prediction)}</s></p>{_text(error)}</li>"
        for error in evaluation.worst_errors
    )
    said = "The answers that are farthest off: hard texts, or wrong numbers."
    if not any(error.text for error in evaluation.worst_errors):
        said += WITHOUT_TEXTS
    return f'<p class="soft">{said}</p><ol class="errors">{items}</ol>'


def _text(error: NumberError) -> str:
    return folded(shown(error.text)) if error.text else ""


def _dropped(evaluation: NumberEvaluation) -> str:
    dropped = [f"{each.count:,} × {escape(each.reason)}" for each in evaluation.dropped]
    items = "".join(f"<li>{item}</li>" for item in [*dropped, *map(escape, evaluation.notes)])
    return f"<ul>{items}</ul>" if items else ""


def _method(evaluation: NumberEvaluation, *, of_training: bool) -> str:
    facts = {
        "command": f"<code>{escape(evaluation.command)}</code>" if evaluation.command else "",
        "trained on": escape(f"{evaluation.data.trained_on}, {evaluation.data.training_rows:,} rows"),
        "fingerprint": f"<code>{escape(evaluation.data.sha256 or '')}</code>",
    }
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items() if value)
    learned = (
        "Each answer comes from a bias and weights of the readers that were fitted without its row (leave-one-out "
        "residuals: Allen 1974). But the rows were used to choose between models, so the figures are a little too good."
        if of_training
        else "The baselines were trained on all rows that the model saw: training and validation rows."
    )
    return (
        f'<dl class="facts">{listed}</dl><p class="soft">Intervals: 95% percentile bootstrap over rows, '
        f"{evaluation.resamples:,} resamples. Differences are paired. {learned}</p>"
    )
