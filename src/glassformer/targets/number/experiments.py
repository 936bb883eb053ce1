"""How experiments with a number are rated: by R², and by how far answers are off."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.stats import ttest_rel

from glassformer.data.arrays import Array, BoolArray
from glassformer.data.numbers import check_varies, numbers_of
from glassformer.data.table import Table
from glassformer.evaluation.record import Estimate
from glassformer.experiments.judging import Figure, Judge, Rating
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.model_folder import TrainedModel
from glassformer.readers.counting.ridge import strata_of
from glassformer.targets.number.evaluation_metrics import difference_in_r2, r2_of
from glassformer.targets.number.held_out import HeldOutNumbers


class NumberJudge(Judge):
    """Rates numbers. The value of a row is 1 − its squared error / the variance of the rows: R² is the mean."""

    kind = "number"
    figures = (
        Figure(key="r2", name="R²", decides=True),
        Figure(key="mae", name="mean absolute error", lower_is_better=True, in_unit=True),
    )
    lowest: ClassVar = -np.inf
    better = "better"
    loss = "the share of the variance that is not explained (1 − R²)"
    without_reading = "always gave the mean"

    def check_measured(self, table: Table, measured: Table) -> None:  # noqa: ARG002
        check_varies(numbers_of(measured), measured, so="R² cannot be measured. Add rows with other numbers")

    def check_learned(self, table: Table, learned: Table) -> None:  # noqa: ARG002
        check_varies(numbers_of(learned), learned)

    def strata(self, table: Table) -> Array:
        return strata_of(numbers_of(table))

    def needed(self, table: Table, learned: BoolArray) -> BoolArray:  # noqa: ARG002
        return np.zeros(table.frame.height, np.bool_)

    def never_held_out(self, table: Table, unseen: Table) -> list[str]:  # noqa: ARG002
        return []

    def rated(self, metrics: Mapping[str, Any]) -> Rating:
        found = HeldOutNumbers.model_validate(metrics["held_out"])
        return Rating(loss=1 - found.r2, own_loss=1 - found.readers[TRANSFORMER].r2, figure=found.r2)

    def rows(self, trained: TrainedModel, table: Table) -> dict[str, Array]:
        return _errors(self.answers(trained, table), table)

    def values(self, rows: Mapping[str, Array], table: Table) -> Array:
        return 1 - rows["r2"] / numbers_of(table).var()

    def rows_without_reading(self, learned: Table, table: Table) -> dict[str, Array]:
        return _errors(np.full(table.frame.height, numbers_of(learned).mean()), table)

    def estimate(self, key: str, rows: Array, table: Table, **drawn: Any) -> Estimate:
        if key == "r2":
            return r2_of(rows, numbers_of(table), **drawn)
        return super().estimate(key, rows, table, **drawn)

    def difference(self, key: str, rows: Array, others: Array, table: Table, **drawn: Any) -> Estimate:
        if key == "r2":
            return difference_in_r2(rows, others, numbers_of(table), **drawn)
        return super().difference(key, rows, others, table, **drawn)

    def p(self, rows: Mapping[str, Array], others: Mapping[str, Array]) -> float:
        """Return p of a paired t-test of the squared errors."""
        if np.array_equal(rows["r2"], others["r2"]):
            return 1.0
        return float(ttest_rel(rows["r2"], others["r2"]).pvalue)


PART = NumberJudge()


def _errors(answers: Array, table: Table) -> dict[str, Array]:
    """Return the squared and the absolute error of each row, of which R² and the mean absolute error are made."""
    off = np.abs(answers - numbers_of(table))
    return {"r2": off**2, "mae": off}
