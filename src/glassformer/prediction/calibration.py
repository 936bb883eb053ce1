"""Logits to probabilities, by a temperature that makes a confidence of 80% mean right in 80 of 100 cases."""

import numpy as np
from jaxtyping import Float, Shaped
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

from glassformer.errors import GlassformerError

MIN_ROWS = 20
THRESHOLD = 0.5  # where a text may have several labels, it is given those of at least this probability
TEMPERATURE_BOUNDS = (0.05, 20.0)


def probabilities(
    logits: Float[np.ndarray, "n n_classes"], *, temperature: float = 1.0, multilabel: bool
) -> Float[np.ndarray, "n n_classes"]:
    """Logits over a temperature to float64 probabilities: softmax, or one sigmoid per label.

    Raises:
        GlassformerError: the logits are not all numbers.
    """
    if not np.isfinite(logits).all():
        raise GlassformerError("the model answers with not-a-number: its weights are damaged, or training diverged")
    scaled = logits.astype(np.float64) / temperature
    result: Float[np.ndarray, "n n_classes"] = expit(scaled) if multilabel else softmax(scaled, axis=1)
    return result


def fit_temperature(
    logits: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], multilabel: bool
) -> float:
    """The temperature T that minimises the negative log likelihood of softmax(logits / T) (Guo et al. 2017, eq. 9).

    Labels are class numbers (n,), or multi-hot (n, n_classes) with one sigmoid per label. The likelihood is convex in
    1/T, so one bounded search over log T finds it. Dividing by a positive number never changes an answer.

    Returns 1.0, that is "leave them be", where the rows cannot tell: fewer than 20, logits that are not finite, or
    an optimum at the bounds (no wrong answer among them, say, makes T → 0).
    """
    if len(logits) < MIN_ROWS or not np.isfinite(logits).all():
        return 1.0
    wide = logits.astype(np.float64)

    def loss(log_temperature: float) -> float:
        scaled = wide / np.exp(log_temperature)
        if multilabel:
            return -float(np.where(labels > 0, log_expit(scaled), log_expit(-scaled)).mean())
        return -float(log_softmax(scaled, axis=1)[np.arange(len(labels)), labels].mean())

    low, high = np.log(TEMPERATURE_BOUNDS)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    # On a plateau that reaches a bound the search stops anywhere, so losses are compared and not places.
    return float(np.exp(found.x)) if found.fun < min(loss(low), loss(high), loss(0.0)) else 1.0
