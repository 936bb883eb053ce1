"""What the readers beside the transformer learn of labels, and how all readers are weighed by held-out rows."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from glassformer.data.arrays import Array, BoolArray, FloatArray, gathered, parts_of
from glassformer.labels.learning_curve import right_rows
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.answering_config import TRANSFORMER, ReaderConfig, Readers, named, of_several
from glassformer.prediction.calibration import fit_temperature
from glassformer.readers.counting.fitting import fit_counting
from glassformer.readers.joining import KNOWING, Joined, join, log_odds, open_rows
from glassformer.readers.label_loss import label_loss
from glassformer.readers.reader import FittedReader, Fold
from glassformer.training.preparation import Prepared
from glassformer.training.readers import GAIN, TOO_LITTLE, LearnedReaders, Lessons, helpful, judged_by, weights_of

_DEVIATION = 0.25  # of the log of the temperature of all readers together: their weights are fitted to the same rows
_LEAST_WEIGHT = 0.001  # of a reader that is worse than chance, or that alone can be shifted: it says almost nothing


def lessons_of(prepared: Prepared, *, fewest: int | None = None) -> Lessons:
    """Return what the readers beside the transformer learn."""
    names, tables = prepared.labels, prepared.splits.tables
    labels = gathered(map(names.encode, tables))
    class_weights = prepared.class_weights.numpy()
    weights, parts = gathered(map(weights_of, tables)), parts_of(len(labels))
    if not names.multilabel:
        weights = gathered(weights[part] * class_weights[labels[part]] for part in parts)
    mean = weights.mean()  # their scale would change how strongly counting is regularised
    row_weights = gathered(weights[part] / mean for part in parts)

    def fit(texts: pl.Series, folds: Sequence[Fold], groups: Array | None, beside_body: bool) -> FittedReader:
        model = prepared.recipe.model
        assert isinstance(model, ModelConfig)  # others have no counting reader
        return fit_counting(
            model.counting,
            texts,
            labels=labels,
            n_classes=len(names.names),
            folds=folds,
            groups=groups,
            row_weights=row_weights,
            positive_weights=class_weights if names.multilabel else None,
            fewest=fewest,
            beside_body=beside_body,
            seed=prepared.recipe.training.seed,
        )

    return Lessons(
        truth=labels,
        strata=labels,
        weights=row_weights,
        loss=label_loss,
        fit_counting=fit,
    )


def weigh_readers(
    learned: LearnedReaders, transformer: FloatArray | None
) -> tuple[Readers, float, dict[str, Any], LearnedReaders]:
    """Find the weights of all readers, and one temperature, by the held-out rows.

    A reader after the first one gets the weight 0 unless it explains these rows clearly better together with those
    before it. The transformer is the last one. Every reader says how frequent the labels are. Scores are shifted, so
    that the sum of the readers says it once.

    Args:
        transformer: its logits (rows, n_classes) for the held-out rows. None if it was not trained.

    Returns:
        The weights, the temperature, figures for people, and the readers with shifted scores.
    """
    labels, multilabel = learned.truth, learned.truth.ndim == 2
    held_out = learned.held_out | ({} if transformer is None else {TRANSFORMER: transformer})
    weights, prior, gained = _weights(learned, held_out)
    given = [name for name, each in learned.fitted.items() if not each.reader.weighed]
    shifts = _shifts(learned, weights, prior)
    shifted = learned.shifted(shifts)
    # What the only reader says alone is the answer, with its shift.
    answers_alone = not given and sum(map(bool, weights.values())) == 1
    own = shifted if answers_alone else learned
    nothing = np.zeros_like(next(iter(held_out.values())))
    alone, logits = (
        {name: weight * scores.get(name, nothing) for name, weight in weights.items() if name not in given}
        for scores in (held_out | own.held_out, held_out | shifted.held_out)
    )
    is_open = np.ones(len(labels), bool) if learned.fixed is None else open_rows(learned.fixed)

    def temperature(of: FloatArray, fixed: FloatArray | None = None, deviation: float = np.inf) -> float:
        beside = None if fixed is None else fixed[is_open]
        return fit_temperature(of[is_open], labels[is_open], multilabel=multilabel, fixed=beside, deviation=deviation)

    together = reduce(np.add, logits.values())
    whole = temperature(together, learned.fixed, _DEVIATION)
    readers = {
        name: ReaderConfig(weight=whole, temperature=whole)  # divided by it, its scores are what they were
        if name in given
        else ReaderConfig(
            weight=weight,
            temperature=temperature(alone[name]),
            shift=tuple((weight * shifts[name]).round(6).tolist()) if name in shifts and not answers_alone else (),
        )
        for name, weight in weights.items()
    }
    together = together if learned.fixed is None else together + whole * learned.fixed
    asked = own.weighed | ({} if transformer is None else {TRANSFORMER: transformer})
    right, by_all = {name: right_rows(each, labels) for name, each in asked.items()}, right_rows(together, labels)
    figures = _figures(learned, right, by_all)
    figures["gain_in_nats"] = None if transformer is None else gained
    return Readers(readers), whole, figures, shifted


def _weights(
    learned: LearnedReaders, held_out: Mapping[str, FloatArray]
) -> tuple[dict[str, float], float, float | None]:
    """Return the weight of each reader, that of the prior, and the nats that the last reader tried gains."""
    gained: float | None = None

    def gains(without: Joined, with_it: Joined) -> bool:
        nonlocal gained
        gained = _nats(learned, without, with_it)
        return gained > GAIN

    chosen, found = helpful(
        list(held_out), lambda names: _joined(learned, {name: held_out[name] for name in names}), gains
    )
    weighed = [name for name in chosen if name == TRANSFORMER or name in learned.weighed]
    weights = dict(zip(weighed, found.weights, strict=True))
    # One answers, also if the held-out rows contradict all. What shifts scores is divided by their weights.
    for names in ([*weights], [name for name in _shiftable(learned) if weights.get(name)]):
        if names and max(weights[name] for name in names) < _LEAST_WEIGHT:
            weights[names[0]] = _LEAST_WEIGHT
    return dict.fromkeys([*held_out, TRANSFORMER], 0.0) | weights, found.prior, gained


def _figures(learned: LearnedReaders, right: Mapping[str, BoolArray], by_all: BoolArray) -> dict[str, Any]:
    """Return what `metrics.json` says of readers that answer held-out rows rightly, each alone and all together."""
    given = [name for name, each in learned.fitted.items() if not each.reader.weighed]
    return {
        "held_out_rows": len(by_all),
        "folds": len(learned.folds),
        "gain_in_nats": None,
        "transformer_accuracy": None,
        **{f"{name}_accuracy": float(each.mean()) for name, each in right.items()},
        **dict.fromkeys([f"{name}_accuracy" for name in given]),
        "accuracy": float(by_all.mean()),
        "more_often_right": _more_often(right, by_all),
        **{f"{name}_seconds": round(each.seconds, 2) for name, each in learned.fitted.items()},
    }


def gain_of(learned: LearnedReaders, transformer: FloatArray) -> float:
    """Return the nats by which the transformer raises the log likelihood of held-out rows over the other readers."""
    others = learned.held_out
    return _nats(learned, _joined(learned, others), _joined(learned, {**others, TRANSFORMER: transformer}))


def _joined(learned: LearnedReaders, scores: Mapping[str, FloatArray]) -> Joined:
    weighed = {name: each for name, each in scores.items() if name == TRANSFORMER or name in learned.weighed}
    odds = {name: each.odds for name, each in learned.fitted.items() if each.odds is not None}
    leading = next((name for name in weighed if name in odds), None)
    return join(
        [*weighed.values()],
        learned.truth,
        multilabel=learned.truth.ndim == 2,
        row_weights=learned.row_weights,
        fixed=learned.fixed,
        leading=None if leading is None else [*weighed].index(leading),
        odds=KNOWING if leading is None else odds[leading],
        prior=_prior(learned) if {*weighed} & {*_shiftable(learned)} else None,
    )


def _shiftable(learned: LearnedReaders) -> list[str]:
    prior = _prior(learned)
    return [name for name, each in learned.fitted.items() if each.reader.shifted(prior) is not None]


def _prior(learned: LearnedReaders) -> Array:
    """Return the log odds (n_classes,) of the labels in the held-out rows that rules leave open."""
    rows = learned.row_weights.astype(np.float64)
    if learned.fixed is not None:
        rows = np.where(open_rows(learned.fixed), rows, 0)
    return log_odds(learned.truth, rows, next(iter(learned.held_out.values())).shape[1])


def _shifts(learned: LearnedReaders, weights: Mapping[str, float], share: float) -> dict[str, FloatArray]:
    """Return what is added to the scores of each reader, for the sum of all to hold this share of the prior more."""
    can = [name for name in _shiftable(learned) if weights[name]]
    if not can or not share:
        return {}
    more = (share / sum(weights[name] for name in can) * _prior(learned)).astype(np.float32)
    return dict.fromkeys(can, more)


def _nats(learned: LearnedReaders, without: Joined, with_it: Joined) -> float:
    """Return how much the log likelihood of the held-out rows rises with a reader more."""
    n_labels = learned.truth.shape[1] if learned.truth.ndim == 2 else 1  # with several labels the loss is a mean
    vary = float(np.square(learned.row_weights).sum() / learned.row_weights.sum())  # heavy rows vary more
    return (without.loss - with_it.loss) * n_labels / vary


def readers_in_words(readers: Readers, figures: dict[str, Any]) -> str:
    """Say which reader answers, by the held-out rows."""
    rows = judged_by(figures["held_out_rows"], figures["folds"])
    return f"readers: accuracy on {rows}: {each_alone(readers, figures)}"


def each_alone(readers: Readers, figures: dict[str, Any]) -> str:
    """Return the accuracy of each reader, and what follows from it."""
    accuracies = {name: figures[f"{name}_accuracy"] for name in readers.root}
    alone = ", ".join(f"{named(name)} alone {right:.4f}" for name, right in accuracies.items() if right is not None)
    others = " and ".join(named(name) for name, weight in readers.weights.items() if weight and name != TRANSFORMER)
    alone = alone or f"{others} alone {figures['accuracy']:.4f}"  # rules by themselves
    if " and " in others and not readers.transformer.weight:
        alone = f"{alone}, together {figures['accuracy']:.4f}"
    better, but = figures.get("more_often_right"), ""
    if better:
        but = f". The weights give the lowest log loss, but {named(better)} alone is right more often here"
    if "promise" in figures:
        return f"{alone}{but}. {TOO_LITTLE}, so the model answers by {others} alone"
    if accuracies[TRANSFORMER] is None:
        return f"{alone}{but}. No transformer was trained, so the model answers by {others}"
    if not readers.transformer.weight:
        helps = "These rows do not show that the transformer helps"
        return f"{alone}{but}. {helps}, so the model answers by {others} alone"
    if not others:
        return f"{alone}{but}. No other reader adds to it, so the model answers by the transformer alone"
    lower, asked = figures["gain_in_nats"] / figures["held_out_rows"], of_several([*accuracies], readers.weights)
    together = f"{asked} together {figures['accuracy']:.4f}, with a log loss {lower:.4f} lower than that of {others}"
    return f"{alone}, {together}{but}"


def _more_often(right: Mapping[str, BoolArray], by_all: BoolArray) -> str | None:
    """Return the reader that alone is right more often than all together, by more than one standard error."""
    best = max(right, key=lambda name: right[name].mean(), default="")
    if best and right[best].sum() - by_all.sum() > np.sqrt((right[best] != by_all).sum()):
        return best
    return None
