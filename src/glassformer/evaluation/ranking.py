"""The ROC curve and the precision–recall curve: how well the probabilities rank the rows, and what thresholds do."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from glassformer.evaluation.result import ClassCurve, ClassThresholds, Ranking, RankingCurves
from glassformer.targets.probabilities import one_hot

MOST_POINTS = 100
MOST_CLASSES = 6  # with a curve of their own


def ranking(
    probs: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    class_names: Sequence[str],
    *,
    multilabel: bool,
) -> Ranking | None:
    """Return both curves of a classifier, or None if all rows have the same class.

    With two classes, the curves are those of the rarer class. With more classes, or several labels per text, each pair
    of a row and a class is a decision, and all decisions are ranked together (micro average).

    Args:
        labels: class numbers (n,), or multi-hot (n, n_classes) with `multilabel`.
    """
    hot = one_hot(labels, len(class_names))
    positive = None
    if len(class_names) == 2 and not multilabel:
        rarer = int(np.argmin(hot.sum(axis=0)))
        positive, hot, probs = class_names[rarer], hot[:, rarer], probs[:, rarer]
    truth, scores = hot.ravel(), probs.ravel()
    if truth.all() or not truth.any():
        return None
    return Ranking(positive=positive, base_rate=float(truth.mean()), curves=_curves(truth, scores))


def class_curves(
    probs: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    class_names: Sequence[str],
    *,
    multilabel: bool,
) -> tuple[ClassCurve, ...]:
    """Return the precision–recall curve of the rarest classes, each against the rest: six at most, the rarest first.

    With two classes there are none: `ranking` has that of the rarer one.
    """
    if len(class_names) == 2 and not multilabel:
        return ()
    hot = one_hot(labels, len(class_names))
    found = []
    for c in _rarest(hot)[:MOST_CLASSES]:
        right, rows = reached(hot[:, c], probs[:, c])
        found.append(
            ClassCurve(
                name=class_names[c],
                base_rate=float(hot[:, c].mean()),
                average_precision=average_precision(right, rows),
                points=_precision_recall(right, rows),
            )
        )
    return tuple(found)


def _curves(truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> RankingCurves:
    right, rows = reached(truth, scores)
    hits, false = np.append(0, right), np.append(0, rows - right)
    bends = np.flatnonzero(np.concatenate([[True], (np.diff(hits, 2) != 0) | (np.diff(false, 2) != 0), [True]]))
    return RankingCurves(
        roc=thinned(false[bends] / false[-1], hits[bends] / hits[-1]),
        precision_recall=_precision_recall(right, rows),
        average_precision=average_precision(right, rows),
    )


def _precision_recall(right: Int[np.ndarray, " m"], rows: Int[np.ndarray, " m"]) -> tuple[tuple[float, float], ...]:
    return thinned(np.append(0, right / right[-1]), np.append(1, right / rows))


def class_thresholds(
    probs: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    class_names: Sequence[str],
    *,
    multilabel: bool,
) -> tuple[ClassThresholds, ...]:
    """Return what thresholds of probability do, for the rarer of two classes, or for the classes of `class_curves`.

    Args:
        labels: class numbers (n,), or multi-hot (n, n_classes) with `multilabel`.
    """
    hot = one_hot(labels, len(class_names))
    found = []
    for c in _rarest(hot)[: 1 if len(class_names) == 2 and not multilabel else MOST_CLASSES]:
        scores = np.floor(probs[:, c].astype(np.float64) * 1e6) / 1e6  # rounded down: each row reaches its own
        right, rows = reached(hot[:, c], scores)
        kept = _spread(right / right[-1], (rows - right) / max(1, len(hot) - right[-1]))
        thresholds = np.unique(scores)[::-1]
        points = zip(thresholds[kept].tolist(), right[kept].tolist(), rows[kept].tolist(), strict=True)
        found.append(ClassThresholds(name=class_names[c], rows=int(right[-1]), points=tuple(points)))
    return tuple(found)


def _rarest(hot: Bool[np.ndarray, "n n_classes"]) -> list[int]:
    """Return the classes that some rows have and some have not, the rarest first."""
    share = hot.mean(axis=0)
    return [int(c) for c in np.argsort(share, kind="stable") if 0 < share[c] < 1]


def reached(
    truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Return how many rows reach each score, from the highest on: the true ones, and all."""
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    return np.cumsum(truth[order])[last], last + 1


def average_precision(right: Int[np.ndarray, " m"], rows: Int[np.ndarray, " m"]) -> float:
    """Return Σ (recall − recall before) · precision over the counts of `reached`."""
    return float(np.diff(right, prepend=0) / right[-1] @ (right / rows))


def area_under_roc(right: Int[np.ndarray, " m"], rows: Int[np.ndarray, " m"]) -> float:
    """Return the area under the curve through the counts of `reached`."""
    wrong = rows - right
    return float(np.trapezoid(np.append(0, right / right[-1]), np.append(0, wrong / wrong[-1])))


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
