"""Calibration: is an answer with a confidence of 80% right in 80 of 100 cases?"""

import numpy as np
from jaxtyping import Bool, Float, Shaped

from glassformer.evaluation.result import Reliability, ReliabilityBin
from glassformer.targets.probabilities import THRESHOLD

N_BINS = 15


def confidences(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], multilabel: bool
) -> tuple[Float[np.ndarray, " m"], Bool[np.ndarray, " m"]]:
    """Return the confidence of each decision, and whether it was right.

    There is one decision per row, its most probable label. With `multilabel`, there is one per row and label, with the
    confidence max(p, 1 − p).
    """
    if multilabel:
        return np.maximum(probs, 1 - probs).ravel(), ((probs >= THRESHOLD) == (labels > 0)).ravel()
    return probs.max(axis=1), probs.argmax(axis=1) == labels


def reliability(confidence: Float[np.ndarray, " n"], correct: Bool[np.ndarray, " n"]) -> Reliability:
    """Return the expected calibration error over 15 bins of equal width (Guo et al. 2017, eq. 3), and the bins.

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
