"""How the evaluation of a model of a number is shown."""

from __future__ import annotations

from html import escape

from glassformer.data.inputs import shown
from glassformer.data.wording import figure, short
from glassformer.evaluation.charts import HEIGHT, axis, frame, svg, x_at, y_at
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import Look, with_interval, worst_errors_section
from glassformer.evaluation.report_sections import doubts_section, inputs_section, robustness_section, worse_slices
from glassformer.evaluation.result import Contestant
from glassformer.evaluation.verdict import share
from glassformer.evaluation.weak_spots import Robustness
from glassformer.pages.html import folded, table
from glassformer.targets.number.evaluation import ASKED
from glassformer.targets.number.evaluation_result import (
    AnswerRange,
    DoubtfulNumber,
    FarOff,
    NumberError,
    NumberEvaluation,
    NumberMetrics,
    NumberTextChange,
)
from glassformer.targets.number.target import rows_needed


def _sections(evaluation: NumberEvaluation, *, of_training: bool) -> dict[str, tuple[str, str]]:
    return {
        "scatter": ("Answers and truth", _scatter(evaluation)),
        "intervals": ("Do the intervals hold?", "" if of_training else _intervals(evaluation)),
        "by-answer": ("How far off, by answer", _by_answer(evaluation.by_answer)),
        "inputs": (
            "What each input gives",
            inputs_section(evaluation.inputs, "R²", lambda each: (each.r2, each.r2_without)),
        ),
        "slices": ("Where it is worse", _far_off(evaluation.far_off)),
        "changes": ("Small changes of the text", _changes(evaluation.robustness)),
        "doubts": (
            "Numbers to check",
            doubts_section(
                evaluation.doubts,
                "a number that is far from the answer: the error is more than three interquartile ranges beyond the "
                "quartiles of all errors",
                "Some of these numbers are wrong: a missing decimal point, another unit, another row. Others are "
                "right, and the text does not say so. Read each text before you change its number.",
                _doubt,
            ),
        ),
        "errors": ("Worst errors", _errors(evaluation)),
    }


def _figures(evaluation: NumberEvaluation) -> dict[str, str]:
    metrics = evaluation.metrics
    return {
        "mean absolute error": in_unit(metrics.mae.value),
        "root mean squared error": in_unit(metrics.rmse.value),
        "Spearman": "–" if metrics.spearman is None else share(metrics.spearman.value),
    }


def _cells(contestant: Contestant[NumberMetrics]) -> list[str]:
    metrics = contestant.metrics
    return [
        with_interval(metrics.r2),
        _unit_interval(metrics.mae),
        _unit_interval(metrics.rmse),
        "–" if metrics.spearman is None else with_interval(metrics.spearman),
    ]


def _plain_cells(contestant: Contestant[NumberMetrics]) -> list[str]:
    r2, spearman = contestant.metrics.r2, contestant.metrics.spearman
    return [
        figure(r2.value),
        f"{figure(r2.low)} to {figure(r2.high)}",
        short(contestant.metrics.mae.value),
        "-" if spearman is None else figure(spearman.value),
    ]


def _sentences(evaluation: NumberEvaluation) -> list[str | None]:
    held = [
        f"intervals of ± {short(each.distance)} should hold {each.asked:.0%} of the numbers, and hold "
        f"{each.coverage.value:.1%} (95% interval {each.coverage.low:.1%} to {each.coverage.high:.1%})"
        for each in evaluation.intervals
    ]
    return [*held, evaluation.duel.verdict, evaluation.duel.reader_verdict]


def _unit_interval(estimate: Estimate) -> str:
    return f"{in_unit(estimate.value)}<small>{in_unit(estimate.low)} to {in_unit(estimate.high)}</small>"


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


def in_unit(value: float) -> str:
    """Write a number of the user's unit as `short` does, with a minus sign."""
    return short(value).replace("-", "−")


def _by_answer(parts: tuple[AnswerRange, ...]) -> str:
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


def _far_off(found: FarOff | None) -> str:
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


def _changes(found: Robustness[NumberTextChange] | None) -> str:
    return robustness_section(
        found,
        ("answer moved by", "mean absolute error before", "mean absolute error after"),
        lambda each: [
            _unit_interval(each.moved),
            in_unit(each.mae_before),
            "–" if each.mae_after is None else in_unit(each.mae_after),
        ],
        in_unit,
    )


def _doubt(each: DoubtfulNumber) -> str:
    return f"number <s>{escape(each.label)}</s> · answered <b>{in_unit(each.answer)}</b>"


def _errors(evaluation: NumberEvaluation) -> str:
    if not evaluation.worst_errors:
        return ""
    first = "The answers that are farthest off: hard texts, or wrong numbers."
    return worst_errors_section(evaluation.worst_errors, first, "", _error)


def _error(error: NumberError) -> str:
    text = folded(shown(error.text)) if error.text else ""
    return (
        f'<li><p class="soft">row {error.row:,} · truth <b>{in_unit(error.truth)}</b> · answered '
        f"<s>{in_unit(error.prediction)}</s></p>{text}</li>"
    )


def _method(evaluation: NumberEvaluation, *, of_training: bool) -> str:
    learned = (
        "Each answer comes from a bias and weights of the readers that were fitted without its row (leave-one-out "
        "residuals: Allen 1974). But the rows were used to choose between models, so the figures are a little too good."
        if of_training
        else "The baselines were trained on all rows that the model saw: training and validation rows."
    )
    return (
        f"Intervals: 95% percentile bootstrap over rows, {evaluation.resamples:,} resamples. Differences are paired. "
        f"{learned}"
    )


PART = Look(
    leading=lambda _: "R²",
    figures=_figures,
    headline=lambda _: [],
    columns=("R²", "mean absolute error", "RMSE", "Spearman"),
    cells=_cells,
    caption="All were measured on the same rows. R²: the share of the variance that the answers explain; 0 is always "
    "answering the mean. RMSE: the root of the mean squared error. Intervals: 95%, bootstrap.",
    plain=("R²", "95% interval", "mean absolute error", "Spearman"),
    plain_cells=_plain_cells,
    sentences=_sentences,
    comparison=lambda comparison: escape(comparison.verdict),
    sections=_sections,
    method=_method,
    subject=lambda evaluation: f"{escape(evaluation.target)}, ",
)
