"""Checks of a column of numbers before any training."""

from __future__ import annotations

import numpy as np

from glassformer.data.numbers import numbers_of
from glassformer.data.table import Table, row_list
from glassformer.data.wording import short
from glassformer.doctor.findings import Finding, percent

_FAR = 10  # standard deviations
_MOST_OF_ALL = 0.7  # of the rows with the same number


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
