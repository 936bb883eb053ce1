"""What answers cost on measured rows, beside the most probable answers and baselines."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from glassformer.data.arrays import Array, BoolArray, DoubleArray
from glassformer.evaluation.baselines import MajorityBaseline, TfidfBaseline
from glassformer.evaluation.intervals import Draws, bootstrap_mean
from glassformer.evaluation.measured import Outcome
from glassformer.evaluation.record import Estimate
from glassformer.targets.labels.evaluation_result import ChangedAnswers, CostFigures, CostOf
from glassformer.targets.labels.target import Labels
from glassformer.targets.probabilities import given_by

_CHANGES = 12


def cost_figures(
    target: Labels, probs: Array, truth: Array, outcomes: Sequence[Outcome], **draws: Unpack[Draws]
) -> CostFigures | None:
    """Measure the mean cost of a row. A row that a person is asked about costs that, and nothing else.

    Args:
        probs: (n, n_classes) those of the model.
        truth: class numbers (n,), or multi-hot (n, n_classes) with several labels per text.
        outcomes: the baselines among them answer by the same costs.

    Returns:
        None if the answers follow no costs.
    """
    if (costs := target.rule) is None:
        return None

    def probable(of: Array) -> BoolArray:
        return given_by(of, multilabel=target.multilabel)

    def by_cost(of: Array) -> DoubleArray:
        return np.where(costs.asked(of), costs.review or 0, costs.paid(costs.given(of), truth))

    given, asked, paid = costs.given(probs), costs.asked(probs), by_cost(probs)
    others = {"the most probable answers": costs.paid(probable(probs), truth)}
    for each in outcomes:
        if each.name == MajorityBaseline.name:
            others["always the most frequent answer"] = costs.paid(probable(each.answers), truth)
            others["always the cheapest answer"] = by_cost(each.answers)
        elif each.name == TfidfBaseline.name:
            others[f"{each.name}, by cost"] = by_cost(each.answers)

    def mean(values: DoubleArray) -> Estimate:
        return bootstrap_mean(values, **draws)

    return CostFigures(
        rows=target.costs,
        mean=mean(paid),
        asked=int(asked.sum()),
        others=tuple(CostOf(name=name, mean=mean(values), more=mean(values - paid)) for name, values in others.items()),
        changed=_changed((probable(probs), given), asked, (others["the most probable answers"], paid), target.names),
    )


def _changed(
    given: tuple[BoolArray, BoolArray], asked: BoolArray, paid: tuple[DoubleArray, DoubleArray], names: Sequence[str]
) -> tuple[ChangedAnswers, ...]:
    """Return the changes of most rows: from the most probable answers to the cheapest ones."""
    places = defaultdict[tuple[str, str], list[int]](list)
    for at in np.flatnonzero((given[0] != given[1]).any(axis=1) | asked).tolist():
        was, now = (", ".join(names[int(label)] for label in np.flatnonzero(each[at])) or "no label" for each in given)
        places[was, "(a person)" if asked[at] else now].append(at)
    most = sorted(places.items(), key=lambda item: -len(item[1]))[:_CHANGES]
    return tuple(
        ChangedAnswers(
            was=was, now=now, rows=len(at), cost_before=float(paid[0][at].mean()), cost_now=float(paid[1][at].mean())
        )
        for (was, now), at in most
    )
