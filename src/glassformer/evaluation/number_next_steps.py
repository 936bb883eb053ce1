"""What to do next with a model of a number: advice that the figures of its evaluation support."""

from __future__ import annotations

from glassformer.data.wording import counted, short
from glassformer.evaluation.number_result import NumberEvaluation
from glassformer.evaluation.verdict import share, slice_name
from glassformer.evaluation.weak_spots import NextStep

_MOST_STEPS = 5
_GROWS = 2.0  # times the error of the lowest quarter of the answers
_WIDE = 0.2  # of an interval of R²
_FEW_ROWS = 200  # to learn from
_NO_BETTER = (
    "Do not rely on the answers: on these rows they are not clearly better than always answering the mean. Check that "
    "the texts say something about the number, and that the rows are like those of training."
)


def number_next_steps(evaluation: NumberEvaluation) -> tuple[NextStep, ...]:
    """Return what to do next, at most five steps. No figure is computed here."""
    steps = (
        _choose(evaluation),
        _distrust_intervals(evaluation),
        _check_numbers(evaluation),
        _read_slice(evaluation),
        _learn_the_logarithm(evaluation),
        _measure_more(evaluation),
        _collect_more(evaluation),
    )
    return tuple(step for step in steps if step is not None)[:_MOST_STEPS]


def _choose(evaluation: NumberEvaluation) -> NextStep | None:
    """Advise as the comparison with the best baseline does, unless the model won. R² compares with the mean."""
    duel = evaluation.duel
    if not duel.baselines:
        return NextStep(text=_NO_BETTER, section="duel") if evaluation.metrics.r2.low <= 0 else None
    strongest = max(range(len(duel.baselines)), key=lambda at: duel.baselines[at].metrics.r2.value)
    baseline, difference = duel.baselines[strongest], duel.comparisons[strongest].difference
    if difference.low > 0:
        return None
    if baseline.name == "the mean":
        said = _NO_BETTER
    elif difference.high < 0:
        said = f"Prefer {baseline.name}: it explains more of the variance on these rows."
    else:
        said = (
            f"These rows show no clear winner. Measure on more test rows, or choose {baseline.name}, which is simpler."
        )
    return NextStep(text=said, section="duel")


def _distrust_intervals(evaluation: NumberEvaluation) -> NextStep | None:
    """Warn of intervals that hold fewer numbers than they should."""
    narrow = [each for each in evaluation.intervals if each.coverage.high < each.asked]
    if not narrow:
        return None
    worst = max(narrow, key=lambda each: each.asked - each.coverage.value)
    return NextStep(
        text=f"Do not rely on the intervals: those of {worst.asked:.0%} hold {share(worst.coverage.value)} of these "
        "numbers. Are the rows like those of training? If they are, hold out more rows.",
        section="intervals",
    )


def _check_numbers(evaluation: NumberEvaluation) -> NextStep | None:
    doubts = evaluation.doubts
    if doubts is None:
        return None
    have = "has a number" if doubts.doubtful == 1 else "have a number"
    return NextStep(
        text=f"Check numbers: {doubts.doubtful:,} of {counted(doubts.rows, 'held-out row')} of {doubts.source} {have} "
        "far from the answer.",
        section="doubts",
    )


def _read_slice(evaluation: NumberEvaluation) -> NextStep | None:
    found = evaluation.far_off
    if found is None or not found.slices.significantly_worse:
        return None
    worst = found.slices.listed[0]
    return NextStep(
        text="Read the errors where the model is worst, then collect training rows of their kind "
        f"({slice_name(worst)}): {share(1 - worst.accuracy.value)} of them are far off, and "
        f"{share(1 - worst.accuracy_of_rest)} of the others.",
        section="slices",
    )


def _learn_the_logarithm(evaluation: NumberEvaluation) -> NextStep | None:
    """Advise another scale if large answers are farther off than small ones, as prices often are."""
    if not evaluation.by_answer:
        return None
    low, high = evaluation.by_answer[0], evaluation.by_answer[-1]
    if low.low <= 0 or min(truth for truth, _ in evaluation.points) <= 0 or high.mae < _GROWS * low.mae:
        return None
    return NextStep(
        text=f"Try to learn the logarithm of the number: the answers above {short(high.low)} are off by "
        f"{short(high.mae)} on average, those below {short(low.high)} by {short(low.mae)}, and intervals have one "
        "width.",
        section="by-answer",
    )


def _measure_more(evaluation: NumberEvaluation) -> NextStep | None:
    r2 = evaluation.metrics.r2
    if r2.high - r2.low <= _WIDE:
        return None
    return NextStep(
        text=f"Measure on more rows: with {counted(evaluation.metrics.rows, 'row')}, R² may be anything from "
        f"{r2.low:.2f} to {r2.high:.2f}.".replace("-", "−"),
        section="duel",
    )


def _collect_more(evaluation: NumberEvaluation) -> NextStep | None:
    rows = evaluation.data.training_rows
    if rows is None or rows >= _FEW_ROWS:
        return None
    return NextStep(text=f"Collect more training rows: the model learned from {counted(rows, 'row')} only.")
