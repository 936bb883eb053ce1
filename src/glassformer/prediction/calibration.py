"""Calibration: turn logits into probabilities with a fitted temperature.

After calibration, an answer with a confidence of 80% should be right in 80 of 100 cases.
"""

import numpy as np
from jaxtyping import Float, Shaped
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax

from glassformer.targets.probabilities import TEMPERATURE_BOUNDS

MIN_ROWS = 20


def fit_temperature(
    logits: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    multilabel: bool,
    fixed: Float[np.ndarray, "n n_classes"] | None = None,
    deviation: float = np.inf,
) -> float:
    """Return the temperature T that minimises the negative log likelihood of softmax(logits / T).

    See Guo et al. 2017, eq. 9. Labels are class numbers (n,), or multi-hot (n, n_classes) with one sigmoid per label.
    They may also be the probabilities (n, n_classes) of each label. The negative log likelihood is convex in 1/T, so a
    bounded search over log T finds its minimum. The temperature does not change any answer.

    Returns 1.0, which changes nothing, if the rows do not determine T: if there are fewer than 20, if a logit is NaN or
    infinite, or if the minimum is at a bound (for example T → 0 if no answer is wrong).

    Args:
        fixed: what is added to the divided logits.
        deviation: of log T around 0 before any row, for logits whose scale has been fitted already.
    """
    if len(logits) < MIN_ROWS or not np.isfinite(logits).all():
        return 1.0
    wide, beside = logits.astype(np.float64), 0 if fixed is None else fixed.astype(np.float64)

    def likelihood(scaled: Float[np.ndarray, "n n_classes"]) -> float:
        if multilabel:
            return float((labels * log_expit(scaled) + (1.0 - labels) * log_expit(-scaled)).mean())
        if labels.ndim == 2:
            return float((labels * log_softmax(scaled, axis=1)).sum(axis=1).mean())
        return float(log_softmax(scaled, axis=1)[np.arange(len(labels)), labels].mean())

    def loss(log_temperature: float) -> float:
        away = log_temperature / deviation
        return away**2 / (2 * len(wide)) - likelihood(wide / np.exp(log_temperature) + beside)

    low, high = np.log(TEMPERATURE_BOUNDS)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    # If the loss is flat up to a bound, the search may stop anywhere on it. So compare losses, not temperatures.
    return float(np.exp(found.x)) if found.fun < min(loss(low), loss(high), loss(0.0)) else 1.0
