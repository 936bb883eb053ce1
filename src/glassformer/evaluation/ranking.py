"""The ROC curve and the precision–recall curve: how well the probabilities rank the rows."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Shaped
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from glassformer.evaluation.result import ClassCurve, Ranking, RankingCurves

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
    hot = labels > 0 if multilabel else labels[:, None] == np.arange(len(class_names))
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
    hot = labels > 0 if multilabel else labels[:, None] == np.arange(len(class_names))
    share = hot.mean(axis=0)
    shown = [int(c) for c in np.argsort(share, kind="stable") if 0 < share[c] < 1][:MOST_CLASSES]
    found = []
    for c in shown:
        precision, recall, _ = precision_recall_curve(hot[:, c], probs[:, c])
        found.append(
            ClassCurve(
                name=class_names[c],
                base_rate=float(share[c]),
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


def thinned(x: Float[np.ndarray, " m"], y: Float[np.ndarray, " m"]) -> tuple[tuple[float, float], ...]:
    """Return at most `MOST_POINTS` points of a curve, spread evenly along both axes, with its ends."""
    if len(x) > MOST_POINTS:
        length = np.cumsum(np.abs(np.diff(x, prepend=x[0])) + np.abs(np.diff(y, prepend=y[0])))
        kept = np.unique(np.searchsorted(length, np.linspace(0, length[-1], MOST_POINTS)).clip(max=len(x) - 1))
        kept = np.union1d(kept, [0, len(x) - 1])[: MOST_POINTS + 1]
        x, y = x[kept], y[kept]
    return tuple((round(float(a), 5), round(float(b), 5)) for a, b in zip(x, y, strict=True))
