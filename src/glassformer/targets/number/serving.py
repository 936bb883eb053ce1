"""What a server shows of a model that answers with a number."""

from __future__ import annotations

from typing import Any

from glassformer.data.arrays import Array
from glassformer.evaluation.record import Estimate
from glassformer.serving.served_target import ServedTarget
from glassformer.targets.number.evaluation_result import NumberEvaluation, NumberMetrics
from glassformer.targets.number.target import Number


def _figures(metrics: NumberMetrics) -> dict[str, Estimate]:
    return {"r2": metrics.r2, "mean_absolute_error": metrics.mae}


def _of_contestant(metrics: NumberMetrics) -> dict[str, Any]:
    return {name: each.model_dump() for name, each in _figures(metrics).items()}


def _scores(target: Number, added: Array) -> Array:
    return added[:, None] / target.scale.deviation


PART = ServedTarget(
    evaluation=NumberEvaluation,
    figures=_figures,
    of_contestant=_of_contestant,
    remark=lambda _: None,
    scores=_scores,
)
