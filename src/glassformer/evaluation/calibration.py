"""Does a confidence of 80% mean right in 80 of 100 cases? Temperature scaling and the reliability of confidences."""

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

from glassformer.evaluation.result import Reliability, ReliabilityBin

N_BINS = 15
MIN_ROWS = 20
TEMPERATURE_BOUNDS = (0.05, 20.0)


def probabilities(
    logits: Float[np.ndarray, "n n_classes"], *, temperature: float = 1.0, multilabel: bool
) -> Float[np.ndarray, "n n_classes"]:
    """Logits over a temperature to float64 probabilities: softmax, or one sigmoid per label."""
    scaled = logits.astype(np.float64) / temperature
    result: Float[np.ndarray, "n n_classes"] = expit(scaled) if multilabel else softmax(scaled, axis=1)
    return result


def fit_temperature(
    logits: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], multilabel: bool
) -> float:
    """The temperature T that minimises the negative log likelihood of softmax(logits / T) (Guo et al. 2017, eq. 9).

    Labels are class numbers (n,), or multi-hot (n, n_classes) with one sigmoid per label. The likelihood is convex in
    1/T, so one bounded search over log T finds it. Dividing by a positive number never changes an answer.

    Returns 1.0, that is "leave them be", where the rows cannot tell: fewer than 20, logits that are not finite, not one
    wrong answer among them (the likelihood then grows for ever as T → 0), or an optimum at the bounds of .05 and 20.
    """
    if len(logits) < MIN_ROWS or not np.isfinite(logits).all():
        return 1.0
    wide = logits.astype(np.float64)
    if confidences(probabilities(wide, multilabel=multilabel), labels, multilabel)[1].all():
        return 1.0

    def loss(log_temperature: float) -> float:
        scaled = wide / np.exp(log_temperature)
        if multilabel:
            return -float(np.where(labels > 0, log_expit(scaled), log_expit(-scaled)).mean())
        return -float(log_softmax(scaled, axis=1)[np.arange(len(labels)), labels].mean())

    low, high = np.log(TEMPERATURE_BOUNDS)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    at_bound = min(found.x - low, high - found.x) < 1e-3
    return 1.0 if at_bound or not found.fun < loss(0.0) else float(np.exp(found.x))


def confidences(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], multilabel: bool
) -> tuple[Float[np.ndarray, " m"], Bool[np.ndarray, " m"]]:
    """How sure each decision was, and whether it was right.

    One decision per row (the top label), or one per row and label (max(p, 1 − p)) where texts have several labels.
    """
    if multilabel:
        return np.maximum(probs, 1 - probs).ravel(), ((probs >= 0.5) == (labels > 0)).ravel()
    return probs.max(axis=1), probs.argmax(axis=1) == labels


def reliability(confidence: Float[np.ndarray, " n"], correct: Bool[np.ndarray, " n"]) -> Reliability:
    """Expected calibration error over 15 bins of equal width (Guo et al. 2017, eq. 3), with the bins.

    ECE = Σ_bins (rows in bin / n) · |share right − mean confidence|.
    """
    edges = np.linspace(0, 1, N_BINS + 1)
    bin_of = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, N_BINS - 1)
    counts = np.bincount(bin_of, minlength=N_BINS)
    sure = np.bincount(bin_of, weights=confidence, minlength=N_BINS)
    right = np.bincount(bin_of, weights=correct, minlength=N_BINS)
    bins = tuple(
        ReliabilityBin(
            low=float(edges[i]),
            high=float(edges[i + 1]),
            count=int(counts[i]),
            confidence=float(sure[i] / counts[i]) if counts[i] else None,
            accuracy=float(right[i] / counts[i]) if counts[i] else None,
        )
        for i in range(N_BINS)
    )
    return Reliability(ece=float(np.abs(right - sure).sum() / len(confidence)), bins=bins)
