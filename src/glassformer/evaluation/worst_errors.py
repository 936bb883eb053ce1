"""The wrong answers of the highest confidence, and which words led to them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Shaped

from glassformer.data.input_layout import Layout
from glassformer.evaluation.weak_spots import ErrorReasons, WorstError
from glassformer.explanation.explain import explain
from glassformer.prediction.predictor import Predictor
from glassformer.targets.costs import Costs
from glassformer.targets.labels.target import labels_of
from glassformer.targets.probabilities import given_by, one_hot

WORST_ERRORS = 20
EXPLAINED = 5
LONGEST_EXPLAINED = 2_000
"""Characters. The time of an explanation grows faster than the text."""


def worst_errors(
    probs: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    texts: Sequence[str],
    rows: Sequence[int],
    class_names: Sequence[str],
    costs: Costs | None = None,
) -> tuple[WorstError, ...]:
    """Return the wrong answers of the highest confidence. With several labels, it is that of the surest wrong one.

    Args:
        labels: class numbers (n,), or with several labels per text multi-hot (n, n_classes).
    """
    multilabel = labels.ndim == 2
    truth, predicted = one_hot(labels, len(class_names)), given_by(probs, multilabel=multilabel, costs=costs)
    wrong = truth != predicted
    sureness = np.where(wrong, np.where(predicted, probs, 1 - probs) if multilabel else probs * predicted, 0)
    surest = sureness.max(axis=1)
    order = np.argsort(-surest, kind="stable")[: min(WORST_ERRORS, int(wrong.any(axis=1).sum()))]

    def names(hot: Shaped[np.ndarray, " n_classes"]) -> tuple[str, ...]:
        return tuple(class_names[int(c)] for c in np.flatnonzero(hot))

    return tuple(
        WorstError(
            row=int(rows[int(i)]),
            text=texts[int(i)],
            truth=names(truth[i]),
            prediction=names(predicted[i]),
            confidence=float(surest[i]),
            wrong_label=class_names[int(sureness[i].argmax())] if multilabel else None,
        )
        for i in order
    )


def explain_worst(predictor: Predictor, errors: Sequence[WorstError]) -> tuple[WorstError, ...]:
    """Explain the first errors whose texts are not too long, without the checks of `explain`.

    With one label per text, the margin is that of the right label over the answer. With several, it is the logit of the
    label that is wrong. Rows of several inputs are laid out for people.
    """
    target = labels_of(predictor.trained.config.target)
    known = dict(zip(target.names, target.labels, strict=True))
    chosen = [number for number, error in enumerate(errors) if len(error.text) <= LONGEST_EXPLAINED][:EXPLAINED]
    inputs = predictor.trained.config.inputs
    found = [error.model_copy(update={"text": Layout.of(error.text, inputs).text}) for error in errors]
    for number in chosen:
        error = errors[number]
        label = error.wrong_label or error.truth[0]
        explained = explain(predictor, error.text, label=known[label], faithfulness=False)
        reasons = ErrorReasons(
            label=label,
            rival=error.prediction[0] if error.wrong_label is None else None,
            method=explained.method,
            words=tuple((word.start, word.end, round(word.total, 5)) for word in explained.words),
        )
        found[number] = error.model_copy(update={"text": explained.text, "reasons": reasons})
    return tuple(found)
