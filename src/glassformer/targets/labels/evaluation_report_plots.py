"""The plots of the report of labels with their captions: ranking and calibration."""

from html import escape

from glassformer.evaluation.charts import Series, confidence_chart, reliability_chart, square_chart
from glassformer.evaluation.reliability import N_BINS
from glassformer.evaluation.result import ClassCurve
from glassformer.evaluation.verdict import share
from glassformer.targets.labels.evaluation_result import LabelEvaluation

_LONGEST_NAME = 36  # letters of a class above its curve


def ranking_curves(evaluation: LabelEvaluation) -> str:
    """Draw the precision–recall and ROC curves of the model and of the best baseline."""
    ours = evaluation.duel.model.ranking
    if ours is None:
        return ""
    rivals = [each for each in evaluation.duel.baselines if each.ranking is not None and each.fit_seconds is not None]
    best = max(rivals, key=lambda each: each.metrics.accuracy.value, default=None)
    shown = [(evaluation.duel.model.name, "first", ours)]
    if best is not None and best.ranking is not None:
        shown.append((best.name, "second", best.ranking))
    roc = [Series(name=name, style=style, points=found.curves.roc) for name, style, found in shown]
    precision = [Series(name=name, style=style, points=found.curves.precision_recall) for name, style, found in shown]
    of = (
        f"These are the curves of the class <b>{escape(ours.positive)}</b>, the rarer one."
        if ours.positive is not None
        else "For every text and every class, the question is whether the text has this class. The curves count the "
        "answers to all of these questions together."
    )
    averages = ", ".join(f"{escape(name)} {share(found.curves.average_precision)}" for name, _, found in shown)
    charts = (
        square_chart("Precision and recall", f"Average precision: {averages}.", precision, x="recall", y="precision"),
        square_chart(
            "ROC curve",
            "True positive rate against false positive rate; chance lies on the diagonal.",
            roc,
            x="false positive rate",
            y="true positive rate (recall)",
            diagonal=True,
        ),
    )
    drawn = "".join(f"<figure>{chart}</figure>" for chart in charts)
    return (
        f"<p>A lower threshold finds more rows, but is wrong more often. {of}</p>"
        f'<div class="pair">{drawn}</div>'
        f'<p class="soft">Average precision: {averages}. Chance: {share(ours.base_rate)}.</p>'
        f"{_class_curves(evaluation)}"
    )


def _class_curves(evaluation: LabelEvaluation) -> str:
    """Draw the precision–recall curve of each of the rarest classes."""
    drawn = "".join(
        "<figure>"
        + square_chart(
            f"Precision and recall, class {number}: {found.name}",
            f"Average precision {share(found.average_precision)}; chance: {share(found.base_rate)}.",
            [Series(name=_class_name(found), style="first", points=found.points)],
            x="recall",
            y="precision",
        )
        + "</figure>"
        for number, found in enumerate(evaluation.class_curves, 1)
    )
    rarest = "Each class" if len(evaluation.class_curves) == len(evaluation.class_names) else "The rarest classes"
    said = f"<p>{rarest} against all others, with average precision (AP).</p>"
    return f'{said}<div class="pair">{drawn}</div>' if drawn else ""


def _class_name(found: ClassCurve) -> str:
    name = found.name if len(found.name) <= _LONGEST_NAME else f"{found.name[: _LONGEST_NAME - 1]}…"
    return f"{name}, AP {share(found.average_precision)}"


def calibration_plots(evaluation: LabelEvaluation) -> str:
    """Draw the reliability diagram and the histogram of confidences."""
    calibration = evaluation.calibration
    what = "decisions" if evaluation.multilabel else "answers"
    fitted = calibration.temperature != 1
    error = (
        f"{share(calibration.before.ece)} before and {share(calibration.after.ece)} after dividing the logits by the "
        f"temperature {share(calibration.temperature)}, fitted on held-out rows"
        if fitted
        else f"{share(calibration.after.ece)}. No temperature was fitted: there were too few held-out rows, or the "
        "model made no mistake on them"
    )
    charts = (
        reliability_chart(calibration.before if fitted else None, calibration.after),
        confidence_chart(calibration.after, what),
    )
    drawn = "".join(f"<figure>{chart}</figure>" for chart in charts)
    decisions = " A decision is one row and one label." if evaluation.multilabel else ""
    return (
        f"<p>Expected calibration error: {error}. On the diagonal, a confidence of .8 is right in 80 of 100 cases.</p>"
        f'<div class="pair">{drawn}</div><p class="soft">{N_BINS} bins of equal width.{decisions}</p>'
    )
