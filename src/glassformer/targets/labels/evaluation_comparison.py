"""Two models of labels compared on the same rows."""

from collections.abc import Mapping

from glassformer.data.wording import counted
from glassformer.evaluation.record import Estimate, Record
from glassformer.evaluation.result import ModelComparison
from glassformer.evaluation.verdict import (
    interval,
    is_clear,
    macro_f1_against,
    p_value,
    same_rows_right,
    share,
    signed,
    why_not_clear,
)


class Flip(Record):
    """A text that only one of the two models answers rightly."""

    row: int
    text: str
    truth: str
    answer_a: str
    answer_b: str


class LabelModelComparison(ModelComparison):
    """The comparison of model A with model B. `difference` is A's accuracy − B's on the same rows."""

    accuracy_a: Estimate
    accuracy_b: Estimate
    macro_f1_a: Estimate
    macro_f1_b: Estimate
    only_a_right: tuple[Flip, ...]
    only_b_right: tuple[Flip, ...]
    mcnemar_p: float

    @property
    def figures(self) -> tuple[str, str]:
        return (
            f"accuracy {_estimate(self.accuracy_a)}, macro F1 {_estimate(self.macro_f1_a)}",
            f"accuracy {_estimate(self.accuracy_b)}, macro F1 {_estimate(self.macro_f1_b)}",
        )

    @property
    def parted(self) -> dict[str, tuple[int, list[tuple[str, str]]]]:
        listed = {self.model_a: self.only_a_right, self.model_b: self.only_b_right}
        return {f"only {name} is right": (len(flips), list(map(_line, flips))) for name, flips in listed.items()}


def _line(flip: Flip) -> tuple[str, str]:
    return f"row {flip.row}, {flip.truth} (answers {flip.answer_a} / {flip.answer_b})", flip.text


def _estimate(estimate: Estimate) -> str:
    return f"{share(estimate.value)} ({interval(estimate)})"


def which_is_more_accurate(
    macro_f1: Mapping[str, float], accuracy: Estimate, difference: Estimate, p: float, rows: int
) -> str:
    """Say which of two classifiers is right on more rows, and whether that may be chance."""
    name_a, name_b = macro_f1
    low, high = difference.low, difference.high
    if low == high == 0:
        return f"{name_a} and {name_b} {same_rows_right(accuracy.value, rows)}."
    if is_clear(difference, p):
        better, worse = (name_a, name_b) if low > 0 else (name_b, name_a)
        near, far = sorted((abs(low), abs(high)))
        size = f"{share(abs(difference.value))} (95% interval {share(near)} to {share(far)}, {p_value(p)})"
        return f"{better} is more accurate than {worse} by {size}.{macro_f1_against(macro_f1, more_accurate=better)}"
    size = f"{signed(difference.value)} (95% interval {signed(low)} to {signed(high)}, {p_value(p)})"
    why = why_not_clear(difference, p)
    return f"No clear difference between {name_a} and {name_b} on {counted(rows, 'row')}: {size}.{why}"
