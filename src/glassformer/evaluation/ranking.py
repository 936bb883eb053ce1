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
    return tuple(
        ClassCurve(
            name=class_names[c],
            base_rate=float(hot[:, c].mean()),
            average_precision=average_precision(hot[:, c], probs[:, c]),
            points=_precision_recall(hot[:, c], probs[:, c]),
        )
        for c in _rarest(hot)[:MOST_CLASSES]
    )


def _curves(truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> RankingCurves:
    _, right, rows = _by_threshold(truth, scores)
    wrong = rows - right
    turns = np.ones(len(rows), bool)  # other points are on the line between their neighbours
    turns[1:-1] = (np.diff(wrong, 2) != 0) | (np.diff(right, 2) != 0)
    x, y = np.append(0, wrong[turns]), np.append(0, right[turns])
    return RankingCurves(
        roc=thinned(x / x[-1], y / y[-1]),
        precision_recall=_precision_recall(truth, scores),
        average_precision=average_precision(truth, scores),
    )


def _precision_recall(
    truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]
) -> tuple[tuple[float, float], ...]:
    _, right, rows = _by_threshold(truth, scores)
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
        thresholds, right, rows = _by_threshold(hot[:, c], scores)
        kept = _spread(right / right[-1], (rows - right) / max(1, len(hot) - right[-1]))
        points = zip(thresholds[kept].tolist(), right[kept].tolist(), rows[kept].tolist(), strict=True)
        found.append(ClassThresholds(name=class_names[c], rows=int(right[-1]), points=tuple(points)))
    return tuple(found)


def average_precision(truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> float:
    """Return Σ (Rₜ − Rₜ₋₁) · Pₜ over thresholds t, where P is precision and R is recall: without interpolation."""
    _, right, rows = _by_threshold(truth, scores)
    recall = np.append((right / right[-1])[::-1], 0)
    return float(-np.sum(np.diff(recall) * (right / rows)[::-1]))


def area_under_roc(truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> float:
    """Return how often a true row has a higher score than another row. Equal scores count half."""
    _, right, rows = _by_threshold(truth, scores)
    wrong = rows - right
    return float(np.trapezoid(np.append(0, right), np.append(0, wrong)) / (right[-1] * wrong[-1]))


def _by_threshold(
    truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " m"], Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Return all scores, highest first, and how many true rows and how many rows have at least that score."""
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) < 0, True))
    return scores[order][last], np.cumsum(truth[order])[last], last + 1


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
