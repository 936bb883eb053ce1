"""What to do next with a model of a number."""

from glassformer.data.wording import counted, short
from glassformer.evaluation.next_steps import check_doubts, choose, read_slice
from glassformer.evaluation.verdict import share
from glassformer.evaluation.weak_spots import NextStep
from glassformer.targets.number.evaluation_baselines import MeanBaseline
from glassformer.targets.number.evaluation_result import NumberEvaluation

_MOST_STEPS = 5
_GROWS = 2.0  # times the error of the lowest quarter of the answers
_WIDE = 0.2  # of an interval of R²
_FEW_ROWS = 200  # to learn from
_NO_BETTER = (
    "Do not rely on the answers: on these rows they are not clearly better than always answering the mean. Check that "
    "the texts say something about the number, and that the rows are like those of training."
)


def number_steps(evaluation: NumberEvaluation) -> tuple[NextStep, ...]:
    """Return what to do next, at most five steps."""
    slices = None if evaluation.far_off is None else evaluation.far_off.slices
    steps = (
        _choose(evaluation),
        _distrust_intervals(evaluation),
        check_doubts(evaluation.doubts, "number", "far from the answer", "doubts"),
        read_slice(
            slices,
            lambda own, others: f"{own} of them are far off, and {others} of the others",
            lambda near: 1 - near,
        ),
        _learn_the_logarithm(evaluation),
        _measure_more(evaluation),
        _collect_more(evaluation),
    )
    return tuple(step for step in steps if step is not None)[:_MOST_STEPS]


def _choose(evaluation: NumberEvaluation) -> NextStep | None:
    """Advise as the comparison with the best baseline does, unless the model won. R² compares with the mean."""
    duel = evaluation.duel
    if duel.strongest is None:
        worse = evaluation.metrics.r2.low <= 0
    else:
        worse = duel.baselines[duel.strongest].name == MeanBaseline.name
        worse = worse and duel.comparisons[duel.strongest].difference.low <= 0
    if worse:
        return NextStep(text=_NO_BETTER, section="duel")
    return choose(
        evaluation, lambda baseline: f"Prefer {baseline.name}: it explains more of the variance on these rows."
    )


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
