"""How the answers of a model of a number are attacked: by their squared error."""

from typing import Any

import numpy as np

from glassformer.data.arrays import Array, DoubleArray
from glassformer.data.numbers import numbers_of
from glassformer.data.table import Table
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.ridge import strata_of
from glassformer.targets.number.target import Number, number_of
from glassformer.targets.number.training import PreparedNumber


def truth(config: FolderConfig, table: Table) -> Array:
    """Return the numbers on the scale of training."""
    scale = number_of(config.target).scale
    return (numbers_of(table) - scale.mean) / scale.deviation


strata = strata_of


def prepared(config: FolderConfig, **fields: Any) -> PreparedNumber:
    return PreparedNumber(labels=config.label_set, scale=number_of(config.target).scale, **fields)


def losses(target: Number, scores: Array, truth: Array, temperature: float | None = None) -> DoubleArray:  # noqa: ARG001
    """Return the squared error of each text, in squared deviations of the training rows: (texts,)."""
    off: DoubleArray = scores[:, 0].astype(np.float64) + target.bias - truth
    return off**2


def right(scores: Array, truth: Array) -> None:  # noqa: ARG001
    return None


def alone(predictor: Predictor, reader: str, scores: Array) -> Array | None:
    """Weigh a reader as if it answered alone, by held-out rows. Beside others its weight is smaller."""
    target = number_of(predictor.trained.config.target)
    answers = target.alone(predictor.held_out, reader, scores)
    return None if answers is None else ((answers - target.base) / target.scale.deviation)[:, None]
