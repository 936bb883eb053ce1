"""The section of the report that says which answers a person should see."""

from html import escape

from glassformer.evaluation.charts import Series, axis, line_chart, square_chart, unit_axis
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import with_interval
from glassformer.evaluation.result import AutomaticShare, LabelSets, Review
from glassformer.evaluation.review import BY_CLASS
from glassformer.evaluation.verdict import interval, share
from glassformer.pages.html import table


def review_section(review: Review | None, *, of_training: bool = False) -> str:
    """Draw the risk–coverage curve, and show thresholds and label sets.

    Args:
        of_training: the rows of the report are those that gave the thresholds.
    """
    if review is None:
        return ""
    missing = f'<p class="soft">{escape(review.missing_because)}</p>' if review.missing_because else ""
    origin = (
        "The rows of this report gave the thresholds of confidence. <code>glassformer evaluate</code> shows what the "
        "thresholds do on other rows."
        if of_training
        else "The threshold of confidence comes from held-out rows of training. The rows of this report only show what "
        "it does."
    )
    beside = _found(review) if of_training else _asked_and_got(review)
    return (
        f"<p>If a person sees the answers with the lowest confidence, fewer of the others are wrong. {origin}</p>"
        f'<div class="pair"><figure>{_curve(review)}</figure>{beside}</div>'
        f"{'' if of_training else _shares(review)}{missing}{_by_class(review)}{_sets(review)}"
    )


def _curve(review: Review) -> str:
    points = review.curve
    y = axis("share wrong", [0.0, *(error for _, error in points)])
    said = ", ".join(f"{share(each.error.value)} of the surest {each.asked:.0%}" for each in review.shares)
    applied = next((each.threshold for each in review.shares if each.asked == BY_CLASS), None)
    mark = None if applied is None else (applied.coverage.value, f"threshold for {BY_CLASS:.0%}")
    line = Series(name="wrong among the automatic answers", style="first", points=points)
    return line_chart(
        "Risk–coverage curve",
        f"Share of wrong answers among the surest ones: {said}.",
        [line],
        unit_axis("share answered automatically"),
        y,
        mark=mark,
    )


def _asked_and_got(review: Review) -> str:
    if not review.coverage_got:
        return ""
    lines = [Series(name="automatic answers", style="first", points=review.coverage_got)]
    if review.sets_got:
        lines.append(Series(name="sets with the right label", style="second", points=review.sets_got))
    drawn = square_chart(
        "Asked and got",
        "The share that was asked for, by held-out rows of training, and what it became here. If both are the same, "
        "the point lies on the diagonal.",
        lines,
        x="asked",
        y="got",
        diagonal=True,
    )
    return f"<figure>{drawn}</figure>"


def _shares(review: Review) -> str:
    head = (
        "automatic",
        "wrong among the surest",
        "threshold",
        "wrong among held-out rows",
        "automatic here",
        "wrong of these",
    )
    return table(
        "The surest answers to these rows. Then the threshold that held-out rows gave, and what it did on these rows. "
        "Intervals: 95%.",
        head,
        [(f"{each.asked:.0%}", [with_interval(each.error), *_applied(each)]) for each in review.shares],
    )


def _found(review: Review) -> str:
    """Show the thresholds beside the rows that gave them."""
    rows = [
        (
            f"{each.asked:.0%}",
            [with_interval(each.error), "–" if each.threshold is None else share(each.threshold.confidence)],
        )
        for each in review.shares
    ]
    head = ("automatic", "wrong among the surest", "threshold")
    return f"<div>{table('The surest answers, and their lowest confidence. Intervals: 95%.', head, rows)}</div>"


def _applied(each: AutomaticShare) -> list[str]:
    found = each.threshold
    if found is None:
        return ["–"] * 4
    before = "–" if found.held_out_error is None else share(found.held_out_error)
    error = "–" if found.error is None else with_interval(found.error)
    return [share(found.confidence), before, with_interval(found.coverage), error]


def _by_class(review: Review) -> str:
    rows = [
        (
            escape(each.name),
            [
                f"{each.rows:,}",
                share(each.automatic / each.rows) if each.rows else "–",
                f"{each.wrong:,}",
                share(each.wrong / each.automatic) if each.automatic else "–",
            ],
        )
        for each in review.by_class
    ]
    head = ("answered as", "rows", "automatic", "wrong automatic answers", "share wrong")
    return table(f"With the threshold for {BY_CLASS:.0%}, by answer.", head, rows, sortable=True) if rows else ""


def _sets(review: Review) -> str:
    if not review.sets:
        return ""
    rows = [
        (
            f"{each.asked:.0%}",
            [share(each.probability), with_interval(each.coverage), share(each.mean_size), *_sizes(each)],
        )
        for each in review.sets
    ]
    head = ("asked", "probability from", "hold the right label", "labels per set", "no label", "one label", "more")
    chosen = next(each for each in review.sets if each.asked == BY_CLASS)
    classes = [
        (escape(each.name), [f"{each.rows:,}", share(each.covered / each.rows) if each.rows else "–"])
        for each in chosen.per_class
    ]
    return (
        "<h3>Label sets</h3><p>A text can also get all labels with at least a certain probability. If "
        f"{BY_CLASS:.0%} of the sets should hold the right label, {_plain_interval(chosen.coverage)} of the sets for "
        "these rows do. A set without a label, or with several, is one for a person.</p>"
        + table("Label sets by split conformal prediction. Intervals: 95%.", head, rows)
        + table(
            f"Sets that hold the right label, asked for {BY_CLASS:.0%}, by class.",
            ("class", "true rows", "hold the right label"),
            classes,
            sortable=True,
        )
    )


def _sizes(sets: LabelSets) -> list[str]:
    """Return the shares of sets without a label, with one, and with more."""
    rows = sum(sets.sizes)
    none, one = (*sets.sizes, 0, 0)[:2]
    return [share(count / rows) for count in (none, one, rows - none - one)]


def _plain_interval(estimate: Estimate) -> str:
    return f"{share(estimate.value)} (95%: {interval(estimate)})"
