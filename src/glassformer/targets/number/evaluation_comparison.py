"""Two models of a number compared on the same rows."""

from __future__ import annotations

from glassformer.data.wording import short
from glassformer.evaluation.record import Estimate, Record
from glassformer.evaluation.result import ModelComparison
from glassformer.evaluation.verdict import interval, share


class Nearer(Record):
    """A text to which one model answers nearer to the truth."""

    row: int
    text: str
    truth: float
    answer_a: float
    answer_b: float


class NumberModelComparison(ModelComparison):
    """The comparison of model A with model B. `difference` is A's R² − B's on the same rows.

    A is nearer to the truth on `a_nearer` rows, B on `b_nearer`. Those with the largest gaps between both are listed.
    """

    r2_a: Estimate
    r2_b: Estimate
    mae_a: Estimate
    mae_b: Estimate
    a_nearer: int
    b_nearer: int
    most_a_nearer: tuple[Nearer, ...]
    most_b_nearer: tuple[Nearer, ...]

    @property
    def figures(self) -> tuple[str, str]:
        return _figures(self.r2_a, self.mae_a), _figures(self.r2_b, self.mae_b)

    @property
    def parted(self) -> dict[str, tuple[int, list[tuple[str, str]]]]:
        return {
            f"{self.model_a} is nearer": (self.a_nearer, list(map(_line, self.most_a_nearer))),
            f"{self.model_b} is nearer": (self.b_nearer, list(map(_line, self.most_b_nearer))),
        }


def _line(each: Nearer) -> tuple[str, str]:
    answers = f"{short(each.answer_a)} / {short(each.answer_b)}"
    return f"row {each.row}, {short(each.truth)} (answers {answers})", each.text


def _figures(r2: Estimate, mae: Estimate) -> str:
    near = f"{short(mae.value)} ({short(mae.low)} to {short(mae.high)})"
    return f"R² {share(r2.value)} ({interval(r2)}), mean absolute error {near}"
