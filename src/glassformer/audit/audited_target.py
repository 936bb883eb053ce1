"""How the answers of a kind of answer are attacked: `targets/labels/audit.py`, `targets/number/audit.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glassformer.data.arrays import Array, DoubleArray
from glassformer.data.table import Table
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.predictor import Predictor
from glassformer.training.preparation import Prepared
from glassformer.training.readers import Lessons


@dataclass(frozen=True, kw_only=True)
class AuditedTarget:
    """How the answers of a kind of answer are attacked.

    Attributes:
        truth: returns the right answers to the rows of a table, as the losses take them.
        strata: returns the class of each row (rows,) or (rows, n_classes), of which folds keep the proportions.
        prepared: returns a run of training with the given fields of `Prepared`.
        lessons: returns what the readers of such a run learn. It takes `fewest`: see `fit_counting`.
        losses: returns the loss of each text (texts,) from weighted scores, with the temperature of labels.
        alone: returns the scores of a reader as if it answered alone, from its scores without a weight. None: they need
            no change.
        right: returns the share of right answers from scores. None if answers are not right or wrong.
    """

    truth: Callable[[FolderConfig, Table], Array]
    strata: Callable[[Array], Array]
    prepared: Callable[..., Prepared]
    lessons: Callable[..., Lessons]
    losses: Callable[[Any, Array, Array, float | None], DoubleArray]
    alone: Callable[[Predictor, str, Array], Array | None]
    right: Callable[[Array, Array], float | None]
