"""The learning-rate range test: where the loss begins to fall, where it falls fastest, where training breaks down."""

from __future__ import annotations

import math

import numpy as np

from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding, RateRange

LOWEST, HIGHEST, STEPS = 1e-5, 1.0, 100
_WIDTH = 9  # steps that are averaged: centred, so that no rate is blamed for its neighbours
_NOTICEABLE = 0.02  # of the loss at the start
_RISEN = 1.1  # of the loss at the start, where it never fell: noise alone goes higher than the above
# A run has far more steps than this test, and gets along with rates at which it sees nothing happen.
_BELOW, _FAR_BELOW = 20, 100


def measure_rate_range(bench: Bench, *, steps: int) -> RateRange:
    """One step per rate from a new copy of the model, the rates rising geometrically (Smith 2017, §3.3)."""
    rates = np.geomspace(LOWEST, HIGHEST, steps)
    losses = list(bench.steps(bench.copy_of_model(), rates.tolist(), bench.groups()))
    return read_rate_range(rates[: len(losses)], np.array(losses))


def read_rate_range(rates: np.ndarray, losses: np.ndarray) -> RateRange:
    """The marks on a measured curve: rates (steps,), rising, and the loss before each step (steps,)."""
    smoothed = _smoothed(losses)
    start = float(np.median(smoothed[: max(1, len(smoothed) // 8)]))
    low = int(np.argmin(smoothed))
    fell = start - float(smoothed[low])
    begins = steepest = lowest = None
    height = start * _RISEN
    if fell > _NOTICEABLE * start and low > 0:
        noticed = np.flatnonzero(smoothed[: low + 1] < start - _NOTICEABLE * start)
        slopes = np.gradient(smoothed[: low + 1], np.log10(rates[: low + 1]))
        begins, steepest, lowest = (float(rates[i]) for i in (noticed[0], np.argmin(slopes), low))
        height = start - fell / 2
    climbed = np.flatnonzero((smoothed > height) & (np.arange(len(smoothed)) > low if lowest else True))
    return RateRange(
        rates=tuple(rates.tolist()),
        losses=tuple(losses.tolist()),
        smoothed=tuple(smoothed.tolist()),
        begins=begins,
        steepest=steepest,
        lowest=lowest,
        breaks=float(rates[climbed[0]]) if len(climbed) else None,
    )


def judge_rate(rate: float, found: RateRange) -> Finding:
    """Whether the recipe's rate lies where the test saw training work."""
    check, steps = "learning rate", len(found.rates)
    if not math.isfinite(found.losses[0]):
        return Finding(
            check=check,
            level="problem",
            found="the range test could not begin: before any step the loss or its gradient is not a finite number",
            advice="no learning rate mends that; look for the weight or the layer that gives not-a-number",
        )
    broken = "" if found.breaks is None else f", and from {found.breaks:.1g} on training breaks down"
    if found.breaks is not None and rate >= found.breaks:
        return Finding(
            check=check,
            level="problem",
            found=f"the recipe's rate of {rate:g} is too high: in the range test training breaks down from "
            f"{found.breaks:.1g} on",
            advice=f"--set training.learning_rate={_suggestion(found):.0e}",
        )
    if found.begins is None or found.steepest is None or found.lowest is None:
        return Finding(
            check=check,
            level="worth knowing",
            found=f"in {steps} steps of rising rates the loss did not fall noticeably{broken}; the test does not say "
            f"whether the recipe's rate of {rate:g} is high enough",
            advice="the task needs more steps than this test takes; look at the first epochs of the run",
        )
    where = (
        f"the loss begins to fall at {found.begins:.1g}, falls fastest at {found.steepest:.1g} and is lowest at "
        f"{found.lowest:.1g}{broken}; the recipe's rate is {rate:g}"
    )
    advice = f"try --set training.learning_rate={_suggestion(found):.0e}"
    if rate < found.begins / _FAR_BELOW:
        return Finding(check=check, level="problem", found=f"{where}, too low to get anywhere", advice=advice)
    if rate < found.begins / _BELOW:
        return Finding(check=check, level="worth knowing", found=f"{where}, on the low side", advice=advice)
    if rate > found.lowest:
        return Finding(check=check, level="worth knowing", found=f"{where}, on the high side", advice=advice)
    return Finding(check=check, level="good", found=where)


def _suggestion(found: RateRange) -> float:
    """Where the loss begins to fall: a short test ends before higher rates do harm."""
    return found.begins if found.begins is not None else (found.breaks or HIGHEST) / 30


def _smoothed(losses: np.ndarray) -> np.ndarray:
    """A centred moving average; an infinite loss stays one."""
    finite = np.where(np.isfinite(losses), losses, np.nan)
    half = _WIDTH // 2
    return np.array([
        math.inf if math.isnan(loss) else float(np.nanmean(finite[max(0, i - half) : i + half + 1]))
        for i, loss in enumerate(finite)
    ])  # fmt: skip
