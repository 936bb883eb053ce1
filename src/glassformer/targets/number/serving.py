"""What a server shows of a model that answers with a number."""

from __future__ import annotations

from glassformer.evaluation.record import Estimate
from glassformer.serving.served_target import ServedTarget
from glassformer.targets.number.evaluation_result import NumberEvaluation, NumberMetrics


def _figures(metrics: NumberMetrics) -> dict[str, Estimate]:
    return {"r2": metrics.r2, "mean_absolute_error": metrics.mae}


PART = ServedTarget(
    evaluation=NumberEvaluation,
    figures=_figures,
    of_contestant=lambda metrics: {name: each.model_dump() for name, each in _figures(metrics).items()},
    remark=lambda _: None,
    scores=lambda target, added: added[:, None] / target.scale.deviation,
)
