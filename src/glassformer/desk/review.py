"""Which answers a person should see: what was chosen at the desk, as models and commands take it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassformer.errors import UsageError
from glassformer.prediction.answering import Answering


def automatic_share(facts: Mapping[str, Any], predictor: Answering) -> float | None:
    """Return the share of held-out rows whose answers reach the threshold of a project, in whole percents, at least 1%.

    None if no threshold was chosen, or if the model does not know how sure it was of held-out rows.
    """
    if not (threshold := facts.get("threshold")):
        return None
    try:
        confidence = predictor.thresholds.confidence  # of 1%, 2%, … of the rows, the surest ones
    except UsageError:
        return None
    return max(1, sum(each >= threshold for each in confidence)) / 100


def asked_of(facts: Mapping[str, Any], predictor: Answering) -> dict[str, float]:
    """Return what is asked of the answers of a model then (see `Target.answers`)."""
    share = automatic_share(facts, predictor)
    return {} if share is None else {"review_below": predictor.thresholds.rule(share).below}
