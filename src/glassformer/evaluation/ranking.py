"""The ROC curve and the precision–recall curve: how well the probabilities rank the rows, and what thresholds do."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from glassformer.evaluation.result import ClassCurve, ClassThresholds, Ranking, RankingCurves
from glassformer.targets.probabilities import one_hot

MOST_POINTS = 100
MOST_CLASSES = 6  # with a curve of their own


def ranking(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], class_names: Sequence[str]
) -> Ranking | None:
    """Return both curves of a classifier, or None if all rows have the same class.

    With two classes, the curves are those of the rarer class. With more classes, or several labels per text, each pair
    of a row and a class is a decision, and all decisions are ranked together (micro average).

    Args:
        labels: class numbers (n,), or with several labels per text multi-hot (n, n_classes).
    """
    hot = one_hot(labels, len(class_names))
    positive = None
    if labels.ndim == 1 and len(class_names) == 2:
        rarer = int(np.argmin(hot.sum(axis=0)))
        positive, hot, probs = class_names[rarer], hot[:, rarer], probs[:, rarer]
    truth, scores = hot.ravel(), probs.ravel()
    if truth.all() or not truth.any():
        return None
    return Ranking(positive=positive, base_rate=float(truth.mean()), curves=_curves(truth, scores))


def class_curves(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], class_names: Sequence[str]
) -> tuple[ClassCurve, ...]:
    """Return the precision–recall curve of the rarest classes, each against the rest: six at most, the rarest first.

    With two classes there are none: `ranking` has that of the rarer one.
    """
    if labels.ndim == 1 and len(class_names) == 2:
        return ()
    hot = one_hot(labels, len(class_names))
    found = []
    for c in _rarest(hot)[:MOST_CLASSES]:
        precision, recall, _ = precision_recall_curve(hot[:, c], probs[:, c])
        found.append(
            ClassCurve(
                name=class_names[c],
                base_rate=float(hot[:, c].mean()),
                average_precision=float(average_precision_score(hot[:, c], probs[:, c])),
                points=thinned(recall[::-1], precision[::-1]),
            )
        )
    return tuple(found)


def _curves(truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> RankingCurves:
    false_positive, true_positive, _ = roc_curve(truth, scores)
    precision, recall, _ = precision_recall_curve(truth, scores)
    return RankingCurves(
        roc=thinned(false_positive, true_positive),
        precision_recall=thinned(recall[::-1], precision[::-1]),
        average_precision=float(average_precision_score(truth, scores)),
    )


def class_thresholds(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], class_names: Sequence[str]
) -> tuple[ClassThresholds, ...]:
    """Return what thresholds of probability do, for the rarer of two classes, or for the classes of `class_curves`.

    Args:
        labels: class numbers (n,), or with several labels per text multi-hot (n, n_classes).
    """
    hot = one_hot(labels, len(class_names))
    found = []
    for c in _rarest(hot)[: 1 if labels.ndim == 1 and len(class_names) == 2 else MOST_CLASSES]:
        scores = np.floor(probs[:, c].astype(np.float64) * 1e6) / 1e6  # rounded down: each row reaches its own
        order = np.argsort(-scores, kind="stable")
        last = np.flatnonzero(np.append(np.diff(scores[order]) < 0, True))
        right = np.cumsum(hot[order, c])[last]
        kept = _spread(right / right[-1], (last + 1 - right) / max(1, len(hot) - right[-1]))
        points = zip(scores[order][last][kept].tolist(), right[kept].tolist(), (last[kept] + 1).tolist(), strict=True)
        found.append(ClassThresholds(name=class_names[c], rows=int(right[-1]), points=tuple(points)))
    return tuple(found)


def _rarest(hot: Bool[np.ndarray, "n n_classes"]) -> list[int]:
    """Return the classes that some rows have and some have not, the rarest first."""
    share = hot.mean(axis=0)
    return [int(c) for c in np.argsort(share, kind="stable") if 0 < share[c] < 1]


def thinned(x: Float[np.ndarray, " m"], y: Float[np.ndarray, " m"]) -> tuple[tuple[float, float], ...]:
    """Return at most `MOST_POINTS` points of a curve, spread evenly along both axes, with its ends."""
    kept = _spread(x, y)
    return tuple((round(float(a), 5), round(float(b), 5)) for a, b in zip(x[kept], y[kept], strict=True))


def _spread(x: Float[np.ndarray, " m"], y: Float[np.ndarray, " m"]) -> Int[np.ndarray, " kept"]:
    """Return the numbers of these points."""
    if len(x) <= MOST_POINTS:
        return np.arange(len(x))
    length = np.cumsum(np.abs(np.diff(x, prepend=x[0])) + np.abs(np.diff(y, prepend=y[0])))
    kept = np.unique(np.searchsorted(length, np.linspace(0, length[-1], MOST_POINTS)).clip(max=len(x) - 1))
    return np.union1d(kept, [0, len(x) - 1])[: MOST_POINTS + 1]
