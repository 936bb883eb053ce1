"""The learning-rate range test: at which rates the loss begins to fall, falls fastest, and training diverges."""

from __future__ import annotations

import math

import numpy as np

from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding, Level, RateRange

LOWEST, HIGHEST, STEPS = 1e-5, 1.0, 100
_WIDTH = 9  # steps that are averaged; centred, because a trailing mean would blame a rate for lower ones
_NOTICEABLE = 0.02  # as a share of the loss at the start
_RISEN = 1.1  # as a multiple of the loss at the start, if it never fell; noise alone exceeds _NOTICEABLE
# A run has far more steps than this test, so it can also use rates at which the test sees no progress.
_BELOW, _FAR_BELOW = 20, 100


def measure_rate_range(bench: Bench, *, steps: int) -> RateRange:
    """Train a copy of the model for one step per rate, with geometrically rising rates (Smith 2017, §3.3)."""
    rates = np.geomspace(LOWEST, HIGHEST, steps)
    losses = list(bench.steps(bench.copy_of_model(), rates.tolist(), bench.groups()))
    return read_rate_range(rates[: len(losses)], np.array(losses))


def read_rate_range(rates: np.ndarray, losses: np.ndarray) -> RateRange:
    """Find the marked rates of a measured curve.

    Args:
        rates: rising, (steps,).
        losses: the loss before each step, (steps,).
    """
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
    """Judge whether the recipe's rate is one at which training worked in the test."""
    level: Level = "problem"
    # Where the loss begins to fall: a short test ends before higher rates do harm.
    suggested = found.begins if found.begins is not None else (found.breaks or HIGHEST) / 30
    advice = f"try `training.learning_rate={suggested:.0e}`"
    broken = "" if found.breaks is None else f"; training diverges from {found.breaks:.1g} on"
    if not math.isfinite(found.losses[0]):
        said = "the range test could not begin: before the first step the loss or its gradient is NaN or infinite"
        advice = "no learning rate corrects that; look for the weight or the layer that gives NaN or infinity"
    elif found.breaks is not None and rate >= found.breaks:
        said = f"the recipe's rate of {rate:g} is too high for the range test{broken}"
    elif found.begins is None or found.steepest is None or found.lowest is None:
        level, advice = (
            "worth knowing",
            "this task needs more steps than the test takes; watch the first epochs of the run",
        )
        said = (
            f"in {len(found.rates)} steps with rising rates the loss did not fall noticeably{broken}; "
            f"the test does not show whether the recipe's rate of {rate:g} is high enough"
        )
    else:
        verdict = "far too low"
        if rate > found.lowest:
            level, verdict = "worth knowing", "rather high"
        elif rate >= found.begins / _BELOW:
            level, verdict, advice = "good", "good", ""
        elif rate >= found.begins / _FAR_BELOW:
            level, verdict = "worth knowing", "rather low"
        said = (
            f"the recipe's rate of {rate:g} is {verdict}: in the range test the loss begins to fall at "
            f"{found.begins:.1g}, falls fastest at {found.steepest:.1g} and is lowest at {found.lowest:.1g}"
            f"{broken}"
        )
    return Finding(check="learning rate", level=level, found=said, advice=advice)


def _smoothed(losses: np.ndarray) -> np.ndarray:
    """Return a centred moving average. An infinite loss stays infinite."""
    finite = np.where(np.isfinite(losses), losses, np.nan)
    half = _WIDTH // 2
    return np.array([
        math.inf if math.isnan(loss) else float(np.nanmean(finite[max(0, i - half) : i + half + 1]))
        for i, loss in enumerate(finite)
    ])  # fmt: skip
