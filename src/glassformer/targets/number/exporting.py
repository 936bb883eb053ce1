"""What exports of a model of a number depend on."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from glassformer.data.numbers import numbers_of
from glassformer.data.table import Table
from glassformer.data.wording import short
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.number.target import number_of

MOST_CHANGE, MOST_R2_LOST = 0.05, 0.005
"""Answers of an export in int8 may change by this share of the mean absolute error, and R² may lose so much."""


def compared(config: FolderConfig, ours: Any, theirs: Any, rows: Table) -> dict[str, Any]:  # noqa: ARG001
    truth = numbers_of(rows)
    spread = float(np.square(truth - truth.mean()).sum()) or 1.0
    r2, exported = (1 - float(np.square(truth - each.values).sum()) / spread for each in (ours, theirs))
    return {
        "rows": len(truth),
        "mean_change": float(np.abs(ours.values - theirs.values).mean()),
        "mae": float(np.abs(truth - ours.values).mean()),
        "r2": r2,
        "r2_exported": exported,
    }


def said(checked: Mapping[str, Any]) -> str:
    return (
        f"On {checked['rows']:,} {checked['kind']}, answers change by {short(checked['mean_change'])} on average, and "
        f"R² is {checked['r2_exported']:.3f} (the model: {checked['r2']:.3f})."
    )


def changed(checked: Mapping[str, Any]) -> str | None:
    most = MOST_CHANGE * checked["mae"]
    if checked["mean_change"] <= most and checked["r2"] - checked["r2_exported"] <= MOST_R2_LOST:
        return None
    return (
        f"on {checked['rows']:,} {checked['kind']}, they change by {short(checked['mean_change'])} on average "
        f"({short(most)} is allowed, {MOST_CHANGE:.0%} of the mean absolute error), and R² goes from "
        f"{checked['r2']:.3f} to {checked['r2_exported']:.3f}"
    )


def line(trained: TrainedModel) -> tuple[float, float]:
    target, weights, scores = number_of(trained.config.target), trained.config.weights, np.array([[0.0], [1.0]])
    found = None
    if any(weight for name, weight in weights.items() if name != TRANSFORMER):
        found = target.alone(target.held_out(trained.metrics), TRANSFORMER, scores)
    if found is None:
        found = target.values({TRANSFORMER: weights[TRANSFORMER] * scores})
    return float(found[1] - found[0]), float(found[0])


def about(config: FolderConfig) -> dict[str, Any]:  # noqa: ARG001
    return {"problem_type": "regression"}


def in_pipelines(config: FolderConfig) -> tuple[str, str]:
    score = f"The `score` of its one label is the number `{config.target.outputs[0]}`, in its own unit."
    return ', function_to_apply="none"', score


def page(trained: TrainedModel) -> dict[str, Any]:
    target = number_of(trained.config.target)
    distance = target.distance(target.held_out(trained.metrics))
    return target.described() | {"deviation": target.scale.deviation, "distance": distance}
