"""Metrics of a table of probabilities, with one label per text or several: also their calibration."""

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from glassformer.evaluation.intervals import Draws, bootstrap, distinct_rows, share_right
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import ClassScores, Metrics, Reliability, ReliabilityBin, Scores
from glassformer.targets.costs import Costs
from glassformer.targets.probabilities import THRESHOLD, given_by, one_hot

N_BINS = 15  # of the reliability diagram


def measure(
    probs: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    class_names: Sequence[str],
    *,
    costs: Costs | None = None,
    **draws: Unpack[Draws],
) -> Metrics:
    """Return all metrics of a classifier on a table.

    Args:
        probs: probabilities. Rows add up to one. With several labels per text, each label has a probability of its own,
            and is given from .5 on.
        labels: class numbers (n,), or with several labels per text multi-hot (n, n_classes).
        costs: what wrong answers cost, if the answers follow that. Nothing else depends on it.
    """
    if multilabel := labels.ndim == 2:
        predicted = given_by(probs, multilabel=True, costs=costs)
        patterns, row_counts = distinct_rows(_label_counts(labels > 0, predicted).reshape(len(labels), -1))
    else:
        confusion = confusion_counts(probs, labels, costs)
        patterns, row_counts = _confusion_patterns(confusion)
    n_classes = len(class_names)

    counts = (row_counts @ patterns.astype(np.int64)).reshape(1, 3, n_classes)
    per_class = _scores(counts)[:, 0]
    average = _average_precisions(probs, labels)
    auc, reason = roc_auc(probs, labels, class_names)
    return Metrics(
        rows=len(labels),
        accuracy=share_right(correct_rows(probs, labels, costs), **draws),
        macro_f1=_macro_f1(patterns, row_counts, **draws),
        macro=_as_scores([float(_macro(score[None], counts)[0]) for score in per_class]),
        weighted=_as_scores(per_class @ counts[0, 1] / max(counts[0, 1].sum(), 1)),
        micro=_as_scores(_scores(counts.sum(axis=2, keepdims=True))[:, 0, 0]) if multilabel else None,
        per_class=tuple(
            ClassScores(
                name=name,
                precision=float(per_class[0, i]),
                recall=float(per_class[1, i]),
                f1=float(per_class[2, i]),
                support=int(counts[0, 1, i]),
                predicted=int(counts[0, 2, i]),
                average_precision=average[i],
            )
            for i, name in enumerate(class_names)
        ),
        log_loss=float(losses(probs, labels).mean()),
        roc_auc=auc,
        roc_auc_missing_because=reason,
    )


def macro_f1(
    answers: Int[np.ndarray, " n"], labels: Int[np.ndarray, " n"], n_classes: int, **draws: Unpack[Draws]
) -> Estimate:
    """Return the macro F1 of answers that are class numbers."""
    confusion = confusion_matrix(labels, answers, labels=np.arange(n_classes))
    return _macro_f1(*_confusion_patterns(confusion), **draws)


def _macro_f1(patterns: Shaped[np.ndarray, "m k"], counts: Int[np.ndarray, " m"], **draws: Unpack[Draws]) -> Estimate:

    def of(sums: Float[np.ndarray, "resamples k"]) -> NDArray[np.float64]:
        by_class = sums.reshape(len(sums), 3, -1)
        return _macro(_scores(by_class)[2], by_class)

    return bootstrap(patterns, counts, of, **draws)


def correct_rows(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], costs: Costs | None = None
) -> Bool[np.ndarray, " n"]:
    """Return which rows are answered rightly. With several labels per text, all labels of the row must be right."""
    given = given_by(probs, multilabel=labels.ndim == 2, costs=costs)
    return (given == one_hot(labels, probs.shape[1])).all(axis=1)


def confusion_counts(
    probs: Float[np.ndarray, "n n_classes"], labels: Int[np.ndarray, " n"], costs: Costs | None = None
) -> Int[np.ndarray, "truth prediction"]:
    """Count the rows by true class (down) and predicted class (across)."""
    given = given_by(probs, multilabel=False, costs=costs).argmax(axis=1)
    return confusion_matrix(labels, given, labels=np.arange(probs.shape[1]))


def losses(probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."]) -> Float[np.ndarray, "n k"]:
    """Return −ln p of the true class in nats: (n, 1). With several labels per text, that of the true state of each."""
    truth = labels if labels.ndim == 2 else labels[:, None]
    of_truth = np.where(truth > 0, probs, 1 - probs) if labels.ndim == 2 else np.take_along_axis(probs, truth, axis=1)
    return -np.log(np.clip(of_truth.astype(np.float64), np.finfo(np.float64).eps, 1))


def roc_auc(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], class_names: Sequence[str]
) -> tuple[float | None, str | None]:
    """Return the area under the ROC curve, and None; or None, and the reason why it is undefined.

    With two classes it is that of the second class, otherwise the mean over classes, each against the rest. It is
    undefined if some class has no rows, or all of them.
    """
    hot = one_hot(labels, len(class_names))
    share = hot.mean(axis=0)
    undefined = [name for name, s in zip(class_names, share, strict=True) if s in (0, 1)]
    if undefined:
        listed = ", ".join(undefined[:5]) + (", …" if len(undefined) > 5 else "")
        return None, f"needs rows with and without every label; this is not so for {listed}"
    columns = [1] if labels.ndim == 1 and len(class_names) == 2 else range(len(class_names))
    return float(np.mean([roc_auc_score(hot[:, c], probs[:, c]) for c in columns])), None


def confidences(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."]
) -> tuple[Float[np.ndarray, " m"], Bool[np.ndarray, " m"]]:
    """Return the confidence of each decision, and whether it was right.

    There is one decision per row, its most probable label. With several labels per text, there is one per row and
    label, with the confidence max(p, 1 − p).
    """
    if labels.ndim == 2:
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


def _average_precisions(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."]
) -> list[float | None]:
    """Return the average precision of each class against the rest, or None if no row has it, or every row."""
    hot = one_hot(labels, probs.shape[1])
    return [
        float(average_precision_score(hot[:, c], probs[:, c])) if 0 < count < len(hot) else None
        for c, count in enumerate(hot.sum(axis=0))
    ]


def _label_counts(truth: Bool[np.ndarray, "n c"], predicted: Bool[np.ndarray, "n c"]) -> NDArray[np.uint8]:
    """Return for each row and label whether it is a hit, true, and predicted: (n, 3, n_classes)."""
    return np.stack([truth & predicted, truth, predicted], axis=1).astype(np.uint8)


def _confusion_patterns(confusion: Int[np.ndarray, "c c"]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return a line of `_label_counts` for each cell of the confusion matrix that is not empty, and its count."""
    truth, predicted = np.nonzero(confusion)
    identity = np.eye(len(confusion), dtype=bool)
    return _label_counts(identity[truth], identity[predicted]).reshape(len(truth), -1), confusion[truth, predicted]


def _scores(counts: Shaped[np.ndarray, "r 3 c"]) -> Float[np.ndarray, "3 r c"]:
    """Return precision, recall and F1 from (hits, support, predicted); 0 instead of 0/0."""
    hits, support, predicted = counts[:, 0], counts[:, 1], counts[:, 2]
    return np.stack(
        [hits / np.maximum(predicted, 1), hits / np.maximum(support, 1), 2 * hits / np.maximum(support + predicted, 1)]
    )


def _macro(scores: Float[np.ndarray, "r c"], counts: Shaped[np.ndarray, "r 3 c"]) -> Float[np.ndarray, " r"]:
    """Return the mean over the classes that occur in the truth or in the predictions; 0 if there are none."""
    occurs = (counts[:, 1] + counts[:, 2]) > 0
    total = np.where(occurs, scores, 0).sum(axis=1)
    return total / np.maximum(occurs.sum(axis=1), 1)


def _as_scores(values: Sequence[float] | NDArray[np.float64]) -> Scores:
    precision, recall, f1 = (float(value) for value in values)
    return Scores(precision=precision, recall=recall, f1=f1)
