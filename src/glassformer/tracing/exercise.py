"""Choose the cells that a reader computes by hand."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np

from glassformer.tracing.steps import Matrix
from glassformer.tracing.trace import Trace

MOST_BLANKS = 8
_MOST_NUMBERS = 12
"""A reader adds or multiplies at most this many numbers for a blank cell."""
_OVER_A_ROW = (
    "linear",
    "linear-with-bias",
    "softmax",
    "mix",
    "matmul",
    "matmul-with-bias",
    "scores",
    "query-scores",
    "z-score",
    "share",
    "unit-length",
)
_OVER_A_COLUMN = ("mean", "max", "weighted-mean", "column-sum", "softmax-of-columns")
_OF_ONE_NUMBER = (
    "add",
    "add-with-bias",
    "gate",
    "product",
    "two-products",
    "complement",
    "scale",
    "divide",
    "sigmoid",
    "tf-idf",
    "scaled-rows",
    "scaled-rows-plus",
)


@dataclass(frozen=True, kw_only=True)
class Blank:
    """A cell to compute: the name of its matrix and its indices."""

    name: str
    cell: tuple[int, ...]


def choose_blanks(found: Trace) -> tuple[Blank, ...]:
    """Choose up to eight cells of as many kinds of steps as possible. The same text gets the same cells."""
    draw = random.Random(found.text)
    shapes = {matrix.step.name: matrix.values.shape for matrix in found}
    fit = [matrix for matrix in found if 0 < _numbers(matrix, shapes) <= _MOST_NUMBERS and matrix.values.size]
    draw.shuffle(fit)
    kinds: Counter[str] = Counter()
    rounds: dict[str, int] = {}  # the first of each kind, then the second of each kind, …
    for matrix in fit:
        rounds[matrix.step.name] = kinds[matrix.step.operation]
        kinds[matrix.step.operation] += 1
    chosen = sorted(rounds, key=lambda name: rounds[name])[:MOST_BLANKS]
    return tuple(
        Blank(name=matrix.step.name, cell=_cell(matrix, draw)) for matrix in found if matrix.step.name in chosen
    )


def _numbers(matrix: Matrix, shapes: dict[str, tuple[int, ...]]) -> int:
    """Return how many numbers a cell adds up. 0 if this is nothing to compute by hand."""
    step = matrix.step
    if any(name not in shapes for name in step.inputs):
        return 0
    if step.operation in _OVER_A_ROW:
        return shapes[step.inputs[0]][-1]
    if step.operation in _OVER_A_COLUMN:
        return shapes[step.inputs[-1 if step.operation == "weighted-mean" else 0]][0]
    return int(step.operation in _OF_ONE_NUMBER)


def _cell(matrix: Matrix, draw: random.Random) -> tuple[int, ...]:
    """Draw a cell with a finite number."""
    places = np.argwhere(np.isfinite(matrix.values))
    return tuple(int(index) for index in places[draw.randrange(len(places))])
