"""Where a model of a number is farther off than elsewhere, and the numbers of training that it doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from glassformer.data.inputs import texts_alone
from glassformer.data.splits import Splits
from glassformer.evaluation.doubtful_labels import text_of
from glassformer.evaluation.number_result import AnswerRange, DoubtfulNumber, DoubtfulNumbers, FarOff
from glassformer.evaluation.slices import FEWEST_ROWS, find_slices
from glassformer.prediction.folder_config import ClassifierMetrics

Numbers = np.ndarray[Any, np.dtype[np.float64]]
_FAR = 0.8  # of the rows are nearer than a row that is far off
_PARTS = 4


def far_off(
    texts: Sequence[str], answers: Numbers, truth: Numbers, columns: pl.DataFrame | None = None
) -> FarOff | None:
    """Find slices of the rows (see `find_slices`) on which answers are far off more often.

    Returns:
        None if all answers are equally far off.
    """
    off = np.abs(answers - truth)
    distance = float(np.quantile(off, _FAR))
    near = off <= distance
    if near.all():
        return None
    return FarOff(distance=distance, slices=find_slices([texts_alone(text) for text in texts], near, columns))


def by_answer(answers: Numbers, truth: Numbers, distance: float | None) -> tuple[AnswerRange, ...]:
    """Return the errors of each quarter of the rows, lowest answers first. Nothing if there are few rows.

    Args:
        distance: half of the width of the interval of 90%. None if there is none.
    """
    if len(answers) < _PARTS * FEWEST_ROWS:
        return ()
    off = answers - truth
    return tuple(
        AnswerRange(
            low=float(answers[part].min()),
            high=float(answers[part].max()),
            rows=len(part),
            mae=float(np.abs(off[part]).mean()),
            bias=float(off[part].mean()),
            held=None if distance is None else float((np.abs(off[part]) <= distance).mean()),
        )
        for part in np.array_split(np.argsort(answers, kind="stable"), _PARTS)
    )


def doubtful_numbers(metrics: dict[str, Any], seen: Splits | str) -> DoubtfulNumbers | None:
    """Return the doubtful numbers that the model folder remembers, or None if there are none.

    Args:
        metrics: the contents of its `metrics.json`.
        seen: the rows that the model was trained and validated on, or why they cannot be read.
    """
    doubts = ClassifierMetrics.model_validate(metrics).number_doubts
    if doubts is None or not doubts.doubtful:
        return None
    rows = None if isinstance(seen, str) else (seen.validation or seen.train).frame
    return DoubtfulNumbers(
        source=doubts.source,
        rows=doubts.rows,
        doubtful=doubts.doubtful,
        listed=tuple(
            DoubtfulNumber(**each.model_dump(), text=text_of(each.row, each.label, rows)) for each in doubts.listed
        ),
    )
