"""What a server shows of a model that answers with labels."""

from __future__ import annotations

from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import Metrics
from glassformer.serving.served_target import ServedTarget
from glassformer.targets.labels.evaluation_result import LabelEvaluation


def _figures(metrics: Metrics) -> dict[str, Estimate]:
    return {"accuracy": metrics.accuracy}


PART = ServedTarget(evaluation=LabelEvaluation, figures=_figures)
