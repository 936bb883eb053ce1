"""What a server shows of a model that answers with labels."""

from __future__ import annotations

from typing import Any

from glassformer.evaluation.result import Metrics
from glassformer.evaluation.verdict import rarely_found
from glassformer.serving.served_target import ServedTarget
from glassformer.targets.labels.evaluation_result import LabelEvaluation


def _of_contestant(metrics: Metrics) -> dict[str, Any]:
    estimates = {"accuracy": metrics.accuracy.model_dump(), "macro_f1": metrics.macro_f1.model_dump()}
    return estimates | {"log_loss": metrics.log_loss}


PART = ServedTarget(
    evaluation=LabelEvaluation,
    figures=lambda metrics: {"accuracy": metrics.accuracy},
    of_contestant=_of_contestant,
    remark=rarely_found,
    scores=lambda target, added: added * target.temperature,
)
