"""A step of a trace: the matrix that it computes, from which matrices, and by which formula.

After the forward pass, a target adds the steps from the scores to the answer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from glassformer.data.arrays import Array, DoubleArray, FloatArray

Axes = tuple[str, ...]
TOKENS, FEATURES, HEADS, HIDDEN, CLASSES = "tokens", "features", "heads", "hidden", "classes"
NGRAMS, RULES, WORDS, PARTS = "n-grams", "rules", "words", "words and pieces"
BACKWARDS, TEXTS, IN_ROW = "tokens from the last", "texts", "texts of a row"
"""The meanings of the axes of matrices."""
TOKENS_BY_FEATURES = (TOKENS, FEATURES)
OUT, IN = "outputs", "inputs"
"""The axes of a weight."""

FORMULAS: Mapping[str, str] = tomllib.loads(files(__package__).joinpath("formulas.toml").read_text(encoding="utf-8"))
"""The formula of each operation. Names in braces are settings of the step."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A matrix by its name, and how it comes from other matrices.

    Attributes:
        operation: a key of `FORMULAS`.
        inputs: names of other steps, in the order in which the formula names them.
        axes: what the axes mean, one for each.
        settings: numbers and names in the formula.
    """

    name: str
    operation: str
    inputs: tuple[str, ...] = ()
    axes: Axes
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def formula(self) -> str:
        settings = self.settings
        masked = {"causal": f"; −∞ for later {self.axes[-1]}", "local": "; −∞ farther than {reach:,} tokens"}
        formula = FORMULAS[self.operation] + masked.get(settings.get("pattern", ""), "")
        skipped, columns = settings.get("skipped", 0), settings.get("columns", 0)
        which = f"columns {skipped + 1:,}–{skipped + columns:,}" if skipped else f"the first {columns:,} columns"
        return formula.format(**settings, which=which)


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A step with its numbers.

    Attributes:
        values: the shape is that of `step.axes`.
        gradient: of the margin (see `Trace`), in the same shape. None where there is none: the counting reader,
            and tables that are not learned.
    """

    step: Step
    values: FloatArray
    gradient: FloatArray | None = None


def matrix(operation: str, name: str, values: Array, *inputs: str, rows: str = "", **settings: Any) -> Matrix:
    """Return a matrix with a column for each score, or one row of them."""
    return with_axes((rows, CLASSES) if rows else (CLASSES,), operation, name, values, *inputs, **settings)


def with_axes(axes: Axes, operation: str, name: str, values: Array, *inputs: str, **settings: Any) -> Matrix:
    """Return a matrix whose axes mean this."""
    step = Step(name=name, operation=operation, inputs=inputs, axes=axes, settings=settings)
    return Matrix(step=step, values=values.astype(np.float32))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An answer, and what is traced back.

    Attributes:
        label, rival: the gradients are those of the score of `label` minus that of `rival`, if there is one.
        direction: (width,) the same: `scores @ direction`.
    """

    names: tuple[str, ...]
    label: str
    rival: str | None
    direction: DoubleArray
    answer: str
