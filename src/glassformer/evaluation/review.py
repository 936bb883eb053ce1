"""Which answers can be given automatically: the error among the surest ones, and label sets."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from glassformer.evaluation.intervals import Draws, share_right
from glassformer.evaluation.metrics import correct_rows
from glassformer.evaluation.ranking import thinned
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import (
    AppliedThreshold,
    AutomaticClass,
    AutomaticShare,
    ClassCoverage,
    LabelSets,
    Review,
)
from glassformer.targets.costs import Costs
from glassformer.targets.probabilities import confidences_of, given_by
from glassformer.targets.review import Thresholds

ASKED, ASKED_OF_SETS = (0.8, 0.9, 0.95, 1.0), (0.8, 0.9, 0.95)
BY_CLASS = 0.9
_DRAWN = tuple(percent / 100 for percent in range(5, 100, 5))
_LEAST_DRAWN = 0.05  # of the rows: among fewer rows, the error is chance


def review(
    probs: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    class_names: Sequence[str],
    *,
    thresholds: Thresholds | None,
    costs: Costs | None = None,
    **draws: Unpack[Draws],
) -> Review:
    """Measure what remains wrong if a person sees the least sure answers.

    With several labels per text, the confidence of a row is that of its least certain decision, and a row is right if
    all its labels are right.

    Args:
        labels: class numbers (n,), or with several labels per text multi-hot (n, n_classes).
        thresholds: those that held-out rows of training gave. They are never found by the measured rows.
    """
    multilabel = labels.ndim == 2
    probs = probs.astype(np.float32)  # as answers have them, and so thresholds: nearer to 1 than 3e-8 is 1
    confidence = confidences_of(probs, multilabel=multilabel, costs=costs)
    wrong = ~correct_rows(probs, labels, costs)

    def estimate(which: Bool[np.ndarray, " m"]) -> Estimate:
        return share_right(which, **draws)

    def applied(asked: float) -> AppliedThreshold | None:
        if thresholds is None or asked == 1:
            return None
        rule = thresholds.rule(asked)
        automatic = confidence >= rule.below
        return AppliedThreshold(
            confidence=rule.below,
            held_out_rows=rule.automatic,
            held_out_error=None if rule.wrong is None else rule.wrong / rule.automatic,
            coverage=estimate(automatic),
            error=estimate(wrong[automatic]) if automatic.any() else None,
        )

    more: dict[str, Any] = {}
    if thresholds is None:
        more["missing_because"] = _NO_THRESHOLDS
    else:
        got = [(asked, float((confidence >= thresholds.rule(asked).below).mean())) for asked in _DRAWN]
        more["coverage_got"] = tuple(got)
    if thresholds is not None and not multilabel:
        answered = given_by(probs, multilabel=False, costs=costs).argmax(axis=1)
        more["by_class"] = _by_class(answered, confidence >= thresholds.rule(BY_CLASS).below, wrong, class_names)
    if thresholds is not None and thresholds.label_probability is not None:
        held = [(asked, float(_covered(probs, labels, thresholds.label_threshold(asked)).mean())) for asked in _DRAWN]
        sets = [label_sets(probs, labels, class_names, asked, thresholds, **draws) for asked in ASKED_OF_SETS]
        more |= {"sets_got": tuple(held), "sets": tuple(sets)}
    return Review(
        curve=_curve(confidence, wrong),
        shares=tuple(
            AutomaticShare(asked=asked, error=estimate(wrong[surest(confidence, asked)]), threshold=applied(asked))
            for asked in ASKED
        ),
        **more,
    )


def surest(confidence: Float[np.ndarray, " n"], share: float) -> Bool[np.ndarray, " n"]:
    """Return the surest share of the rows. Rows that are as sure as the last of them belong to them."""
    return confidence >= np.sort(confidence)[-int(np.ceil(share * len(confidence) - 1e-9))]


def label_sets(
    probs: Float[np.ndarray, "n n_classes"],
    labels: Int[np.ndarray, " n"],
    class_names: Sequence[str],
    asked: float,
    thresholds: Thresholds,
    **draws: Unpack[Draws],
) -> LabelSets:
    """Measure the sets of labels that should hold the right one in this share of the rows."""
    least = thresholds.label_threshold(asked)
    covered, sizes = _covered(probs, labels, least), (probs >= least).sum(axis=1)
    return LabelSets(
        asked=asked,
        probability=least,
        coverage=share_right(covered, **draws),
        mean_size=float(sizes.mean()),
        sizes=tuple(np.bincount(sizes).tolist()),
        per_class=tuple(
            ClassCoverage(name=name, rows=int((labels == c).sum()), covered=int(covered[labels == c].sum()))
            for c, name in enumerate(class_names)
        ),
    )


def _covered(
    probs: Float[np.ndarray, "n n_classes"], labels: Int[np.ndarray, " n"], least: float
) -> Bool[np.ndarray, " n"]:
    return probs[np.arange(len(labels)), labels] >= least


def _curve(confidence: Float[np.ndarray, " n"], wrong: Bool[np.ndarray, " n"]) -> tuple[tuple[float, float], ...]:
    """Return the risk–coverage curve (El-Yaniv & Wiener 2010). It has no point between rows of the same confidence."""
    order = np.argsort(-confidence, kind="stable")
    ordered, rows = confidence[order], np.arange(1, len(order) + 1)
    last_of_its_kind = np.append(ordered[1:] < ordered[:-1], True)
    drawn = last_of_its_kind & (rows >= _LEAST_DRAWN * len(rows))
    return thinned((rows / len(rows))[drawn], (np.cumsum(wrong[order]) / rows)[drawn])


def _by_class(
    predicted: Int[np.ndarray, " n"],
    automatic: Bool[np.ndarray, " n"],
    wrong: Bool[np.ndarray, " n"],
    class_names: Sequence[str],
) -> tuple[AutomaticClass, ...]:
    return tuple(
        AutomaticClass(
            name=name,
            rows=int((predicted == c).sum()),
            automatic=int((automatic & (predicted == c)).sum()),
            wrong=int((wrong & automatic & (predicted == c)).sum()),
        )
        for c, name in enumerate(class_names)
    )


_NO_THRESHOLDS = (
    "This model does not know how sure it was of held-out rows: it has none, or forgot them. Train it again with "
    "held-out rows to get thresholds."
)
