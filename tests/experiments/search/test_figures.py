"""The figures of a search: rows of a group count as fewer, as in an evaluation."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassformer.data.table import Table
from glassformer.evaluation.intervals import share_right, worth_of_groups
from glassformer.experiments.search.rows import units_of
from glassformer.experiments.search.search import _figures
from glassformer.targets.labels.experiments import PART

RIGHT = np.repeat(np.arange(40) % 4 > 0, 5)  # the five rows of an author are right or wrong together
OTHER = np.random.default_rng(0).random(200) < 0.6


def figures(frame: pl.DataFrame) -> Any:
    table = Table(frame=frame, source="t", text_column="text", label_column="label")
    rows = [{"accuracy": right.astype(float), "log_loss": np.where(right, 0.1, 2.0)} for right in (RIGHT, OTHER)]
    outcome: Any = SimpleNamespace(found=SimpleNamespace(rows=rows[0]), default=SimpleNamespace(rows=rows[1]))
    found = _figures(PART, [outcome], table, seed=0, units=units_of(table), grouped="group" in frame.columns)
    return {figure.key: figure for figure in found}


def width(estimate: Any) -> float:
    return float(estimate.high - estimate.low)


def test_rows_of_a_group_count_as_fewer() -> None:
    frame = pl.DataFrame({"row": range(200), "text": [f"text {row}" for row in range(200)]})
    authors = np.repeat(np.arange(40), 5)
    alone, grouped = figures(frame), figures(frame.with_columns(group=pl.Series(authors).cast(pl.String)))
    expected = share_right(RIGHT, worth=worth_of_groups(RIGHT, authors))
    assert grouped["accuracy"].found == expected
    assert width(grouped["accuracy"].found) > 2 * width(alone["accuracy"].found)
    assert width(grouped["log_loss"].found) > 2 * width(alone["log_loss"].found)
    assert width(grouped["log_loss"].difference) > 1.3 * width(alone["log_loss"].difference)
    assert width(grouped["accuracy"].default) == pytest.approx(width(alone["accuracy"].default), rel=0.15)
    assert (alone["accuracy"].p is None, grouped["accuracy"].p) == (False, None)
