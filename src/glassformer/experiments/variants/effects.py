"""Intervals and tests for variants with a few seeds. They take into account what the runs share."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped
from scipy import stats

from glassformer.evaluation.intervals import LEVEL
from glassformer.evaluation.record import Estimate, Record
from glassformer.evaluation.verdict import SIGNIFICANCE, p_value, share, signed

SAME = 1e-9
"""Means closer than this are taken as equal. The rest is rounding."""


class ValueEffect(Record):
    """One value of a varied key. `mean` is that over all variants with this value. `effect` is its difference from the
    mean over all values of the key."""

    value: str
    mean: Estimate
    effect: Estimate


class Difference(Record):
    """The difference of two means, `better` − `worse`. `p` is from a paired t-test, `holm_p` is p after Holm's
    correction."""

    better: str
    worse: str
    difference: Estimate
    p: float
    holm_p: float
    beyond_noise: bool


class KeyEffect(Record):
    """A varied key with each of its values and every pair of them. `verdict` is empty if no variant learned
    anything."""

    key: str
    values: tuple[ValueEffect, ...]
    differences: tuple[Difference, ...]
    verdict: str


@dataclass(frozen=True, kw_only=True)
class MeanWithError:
    """A mean with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float

    def interval(self, *, low: float, high: float) -> Estimate:
        """Return the 95% t interval, clipped to the possible values."""
        reach = float(stats.t.ppf((1 + LEVEL) / 2, self.freedom)) * self.error
        return Estimate(value=self.value, low=max(low, self.value - reach), high=min(high, self.value + reach))

    @property
    def p(self) -> float:
        """The two-sided p-value against a true value of zero."""
        return float(2 * stats.t.sf(abs(self.value) / self.error, self.freedom))


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The values of the rows of every variant with every seed. All variants of a seed answered the same rows.

    Attributes:
        values: (variants, rows) for each seed: right (1) or wrong (0) for labels (see `Judge`).
        same_rows: whether all seeds answered the same rows. If not, each seed has its own rows.
        overlap: measured rows / training rows, for seeds with their own rows.
        lowest: the lowest value of a mean. The highest is 1.
    """

    values: tuple[Shaped[np.ndarray, "variants rows"], ...]
    same_rows: bool
    overlap: float
    lowest: float = 0.0
    better: str = "more accurate"

    def mean(self, values: Sequence[Float[np.ndarray, " rows"]]) -> Estimate:
        """Return the mean of a combination of variants with its interval."""
        return self.judge(values).interval(low=self.lowest, high=1)

    def difference(self, values: Sequence[Float[np.ndarray, " rows"]]) -> Estimate:
        """Return the mean of the differences of two combinations with its interval."""
        return self.judge(values).interval(low=self.lowest - 1, high=1 - self.lowest)

    def judge(self, values: Sequence[Float[np.ndarray, " rows"]]) -> MeanWithError:
        """Return the mean of a combination of variants with its standard error.

        If each seed has its own rows, the spread over seeds contains the chance of seeds and of rows. The training rows
        of two seeds overlap, so their results are not independent. Therefore the variance s²/n is widened to
        s²(1/n + overlap) (Nadeau & Bengio 2003, §3).

        If all seeds have the same rows, seeds and rows are two crossed random factors. The variance of the mean is that
        over seeds plus that over rows, minus the residual that both contain. The degrees of freedom follow
        Satterthwaite (1946).

        Few seeds may agree by chance, and their rows vary all the same. So the spread over seeds that have their own
        rows is at least that of a mean of so many rows. An accuracy changes in steps of one row, and R² by about as
        much with the error of a typical row. So the spread of seeds that agree exactly is taken as one row.

        Args:
            values: the combination row by row, for each seed.
        """
        seeds, rows = len(values), min(map(len, values))
        by_seed = np.array([of_seed.mean() for of_seed in values])
        mean, between = float(by_seed.mean()), max(float(by_seed.var(ddof=1)), 1 / rows**2)
        if not self.same_rows:
            between = max(between, float(np.mean([of_seed.var(ddof=1) / len(of_seed) for of_seed in values])))
            error = math.sqrt(between * (1 / seeds + self.overlap))
            return MeanWithError(value=mean, error=error, freedom=seeds - 1)
        table = np.stack(values)
        by_row = table.mean(axis=0)
        freedoms = (seeds - 1, rows - 1, (seeds - 1) * (rows - 1))
        residual = float(((table - by_seed[:, None] - by_row + mean) ** 2).sum()) / freedoms[2]
        # The spread over seeds contains the residual. With two or three seeds it may be smaller by chance.
        parts = (max(between, residual / rows) / seeds, float(by_row.var(ddof=1)) / rows, residual / table.size)
        variance = max(parts[0] + parts[1] - parts[2], parts[0], parts[1])
        freedom = variance**2 / sum(part**2 / count for part, count in zip(parts, freedoms, strict=True))
        return MeanWithError(value=mean, error=math.sqrt(variance), freedom=freedom)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for several tests (Holm 1979): multiply the i-th smallest of m by m − i + 1, never falling."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = largest
    return adjusted


def key_effects(
    outcomes: Outcomes, keys: Sequence[tuple[str, Sequence[str]]], models: Sequence[int]
) -> tuple[KeyEffect, ...]:
    """Return the effect of each value of each key, averaged over the values of all other keys.

    Combinations of the other keys with which two values are one model are left out, because the value has no effect
    there by definition. If that would be all combinations, none is left out. The differences of all keys are corrected
    together.

    Args:
        keys: each key with the names of its values. The variants are all combinations; the last key varies fastest.
        models: a number for each variant. Variants with the same number are one model.
    """
    sizes = [len(values) for _, values in keys]
    places = np.arange(math.prod(sizes)).reshape(sizes)
    marginals = []
    for number, size in enumerate(sizes):
        columns = np.moveaxis(places, number, 0).reshape(size, -1)  # a column is a combination of the other keys
        apart = [len({models[place] for place in column}) == size for column in columns.T]
        kept = columns[:, apart] if any(apart) else columns
        marginals.append([of_seed[kept].mean(axis=1) for of_seed in outcomes.values])
    found = [differences(outcomes, marginal, values) for marginal, (_, values) in zip(marginals, keys, strict=True)]
    corrected = iter(corrected_together([pair for of_key in found for pair in of_key]))
    effects = []
    for (key, values), marginal, of_key in zip(keys, marginals, found, strict=True):
        pairs = tuple(itertools.islice(corrected, len(of_key)))
        effects.append(
            KeyEffect(
                key=key,
                values=tuple(
                    ValueEffect(
                        value=value,
                        mean=outcomes.mean([of_seed[i] for of_seed in marginal]),
                        effect=outcomes.difference([of_seed[i] - of_seed.mean(axis=0) for of_seed in marginal]),
                    )
                    for i, value in enumerate(values)
                ),
                differences=pairs,
                verdict=_verdict(pairs, outcomes.better),
            )
        )
    return tuple(effects)


def differences(
    outcomes: Outcomes, values: Sequence[Float[np.ndarray, "entries rows"]], names: Sequence[str]
) -> list[Difference]:
    """Return the difference of every pair of entries, paired by seed and row and not corrected yet."""
    found = []
    for i, j in itertools.combinations(range(len(names)), 2):
        sums = [sum(float(of_seed[number].mean()) for of_seed in values) for number in (i, j)]
        if sums[0] < sums[1]:
            i, j = j, i
        apart = [of_seed[i] - of_seed[j] for of_seed in values]
        p = outcomes.judge(apart).p
        found.append(
            Difference(
                better=names[i],
                worse=names[j],
                difference=outcomes.difference(apart),
                p=p,
                holm_p=p,
                beyond_noise=False,
            )
        )
    return found


def corrected_together(found: Sequence[Difference]) -> list[Difference]:
    """Return the differences with p-values that are corrected as one family of tests."""
    return [
        pair.model_copy(update={"holm_p": p, "beyond_noise": p < SIGNIFICANCE})
        for pair, p in zip(found, holm([pair.p for pair in found]), strict=True)
    ]


def _verdict(found: Sequence[Difference], better: str) -> str:
    shown = [pair for pair in found if pair.beyond_noise]
    if shown:
        return "; ".join(
            f"{pair.better} is {better} than {pair.worse} by {share(pair.difference.value)} "
            f"({share(pair.difference.low)} to {share(pair.difference.high)}, {p_value(pair.holm_p)})"
            for pair in shown
        )
    largest = max(found, key=lambda pair: pair.difference.value)
    if largest.difference.value < SAME:
        return f"no difference: {'both values' if len(found) == 1 else 'all values'} have the same mean"
    low, high = signed(largest.difference.low), signed(largest.difference.high)
    return (
        f"no difference that these runs can show; the largest, {largest.better} over {largest.worse}, is "
        f"{signed(largest.difference.value)} ({low} to {high}, {p_value(largest.holm_p)})"
    )
