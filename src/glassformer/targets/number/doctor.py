"""How a run that learns a number is checked."""

from dataclasses import replace

import numpy as np
import polars as pl
from torch import Tensor

from glassformer.data.numbers import numbers_of
from glassformer.data.sources import Sources
from glassformer.data.table import Table, row_list
from glassformer.data.wording import short
from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding, percent
from glassformer.doctor.texts import check_stand_ins
from glassformer.targets.number.training_regression import number_losses
from glassformer.training.preparation import Prepared

_FAR = 10  # standard deviations
_MOST_OF_ALL = 0.7  # of the rows with the same number


class NumberBench(Bench):
    """The bench of a model that answers with a standardised number. Logits of zero answer with the mean."""

    target = "number"

    def losses(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, float]:
        return number_losses(logits[:, 0], labels.to(logits), self.config).sum(), float(len(labels))

    def without_reading(self, blind: Tensor, equal: float) -> str:  # noqa: ARG002
        return f"always answering the mean gives {equal:.3f}"

    @classmethod
    def check_truth(cls, sources: Sources, prepared: Prepared) -> list[Finding]:
        return [*check_stand_ins(sources.train), *check_numbers(prepared.splits.train)]

    @classmethod
    def names(cls, prepared: Prepared) -> None:  # noqa: ARG003
        return None

    @classmethod
    def by_value(cls, table: Table) -> Table:
        """Return the table with numbers that are equal written alike: 3.50 as 3.5."""
        return replace(table, frame=table.frame.with_columns(pl.col("label").cast(pl.Float64).cast(pl.String)))


def check_numbers(table: Table) -> list[Finding]:
    """Describe the numbers that are learned. Name those that are far from all others, and one that most rows have."""
    numbers = numbers_of(table)
    mean, deviation = float(numbers.mean()), float(numbers.std())
    distinct, counts = np.unique(numbers, return_counts=True)
    found = (
        f"{len(distinct):,} different numbers from {short(distinct[0])} to {short(distinct[-1])}, mean {short(mean)}, "
        f"standard deviation {short(deviation)}; always answering the mean is off by "
        f"{short(np.abs(numbers - mean).mean())} on average"
    )
    findings = [Finding(check="numbers", level="good", found=found)]
    far = np.flatnonzero(np.abs(numbers - mean) > _FAR * deviation)
    if len(far):
        rows = table.frame["row"].gather(far).to_list()
        findings.append(Finding(
            check="extreme numbers",
            level="worth knowing",
            found=f"{row_list(rows)}: more than {_FAR} standard deviations from the mean",
            advice="these rows dominate R² and make intervals wide; correct them, or learn the logarithm",
        ))  # fmt: skip
    share = counts.max() / len(numbers)
    if share > _MOST_OF_ALL:
        findings.append(Finding(
            check="one number",
            level="worth knowing",
            found=f"{percent(share)} of the training rows have the number {short(distinct[counts.argmax()])}",
            advice="if this number means something else than the others, such as no answer, leave these cells empty",
        ))  # fmt: skip
    return findings


PART = NumberBench
