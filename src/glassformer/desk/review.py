"""Which answers a person should see: what was chosen at the desk, as models and commands take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glassformer.errors import UsageError
from glassformer.prediction.answering import Answering


def automatic_share(facts: Mapping[str, Any], predictor: Answering) -> float | None:
    """Return the share of held-out rows whose answers reach the threshold of a project, in whole percents.

    None if no answer does, if no threshold was chosen, or if the model does not know how sure it was of held-out rows.
    """
    reached = sum(each >= facts["threshold"] for each in _confidences(facts, predictor))
    return reached / 100 if reached else None


def asked_of(facts: Mapping[str, Any], predictor: Answering) -> dict[str, float]:
    """Return what is asked of the answers of a model then (see `Target.answers`)."""
    if facts.get("threshold") and "confidence" not in predictor.trained.config.target.columns:
        return {"review_below": facts["threshold"]}
    if not _confidences(facts, predictor):
        return {}
    share = automatic_share(facts, predictor)
    return {"review_below": facts["threshold"] if share is None else predictor.thresholds.rule(share).below}


def _confidences(facts: Mapping[str, Any], predictor: Answering) -> Sequence[float]:
    """Return the lowest confidence of the surest 1%, 2%, … of held-out rows. Empty if no threshold can be told."""
    try:
        return predictor.thresholds.confidence if facts.get("threshold") else ()
    except UsageError:
        return ()
