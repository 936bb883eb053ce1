"""What a server shows of a model that answers with labels."""

from __future__ import annotations

from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import Evaluation, Metrics
from glassformer.serving.served_target import ServedTarget


def _figures(metrics: Metrics) -> dict[str, Estimate]:
    return {"accuracy": metrics.accuracy}


PART = ServedTarget(evaluation=Evaluation, figures=_figures)
