"""What mattered: how the loss of the trials depends on each setting alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from glassformer.evaluation.intervals import LEVEL
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.verdict import SIGNIFICANCE
from glassformer.experiments.search.result import SettingEffect, Trial, ValueEffect
from glassformer.experiments.variants.effects import holm

FEWEST_TRIALS = 8


def setting_effects(space: Mapping[str, Sequence[Any]], trials: Sequence[Trial]) -> tuple[SettingEffect, ...]:
    """Return the effect of each setting on the loss after a third of the steps, the largest first.

    All candidates have this loss, and their values were drawn independently. So the means of the trials with a value
    can be compared, whatever the other settings are. With few trials there are no effects.
    """
    rated = [trial for trial in trials if trial.first_loss is not None]
    if len(rated) < FEWEST_TRIALS:
        return ()
    losses = np.array([trial.first_loss for trial in rated])
    found = []
    for key, values in space.items():
        places = [np.flatnonzero([trial.values[key] == value for trial in rated]) for value in values]
        if sum(len(place) > 0 for place in places) > 1:
            found.append(_effect(key, values, places, losses))
    for effect, p in zip(found, holm([each["p"] for each in found]), strict=True):
        effect |= {"holm_p": p, "matters": p < SIGNIFICANCE}
    found.sort(key=lambda each: (each["p"], -each["explains"]))
    return tuple(SettingEffect(**each) for each in found)


def _effect(key: str, values: Sequence[Any], places: Sequence[np.ndarray], losses: np.ndarray) -> dict[str, Any]:
    """Compare the means of the values: analysis of variance with one factor."""
    used = np.sort(np.concatenate(places))
    groups = [(value, losses[place]) for value, place in zip(values, places, strict=True) if len(place)]
    total, mean = len(used), float(losses[used].mean())
    between = sum(len(group) * (group.mean() - mean) ** 2 for _, group in groups)
    within = sum(float(((group - group.mean()) ** 2).sum()) for _, group in groups)
    freedom, free = len(groups) - 1, total - len(groups)
    spread = max(within / free, 1e-18) if free else np.inf
    statistic = between / freedom / spread
    reach = float(stats.t.ppf((1 + LEVEL) / 2, free)) if free else np.inf
    effects = []
    for value, group in groups:
        effect = float(group.mean() - mean)
        error = reach * float(np.sqrt(spread * (1 / len(group) - 1 / total)))
        effects.append(
            ValueEffect(
                value=str(value),
                trials=len(group),
                effect=Estimate(value=effect, low=effect - error, high=effect + error),
            )
        )
    return {
        "key": key,
        "values": tuple(effects),
        "explains": max(0.0, float((between - freedom * spread) / (between + within + spread))),
        "p": float(stats.f.sf(statistic, freedom, free)) if free else 1.0,
    }
