"""A step of a forward pass: the matrix that it computes, from which matrices, and by which formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glassformer.data.arrays import Array, FloatArray

Axes = tuple[str, ...]
TOKENS, FEATURES, HEADS, HIDDEN, CLASSES, NGRAMS = "tokens", "features", "heads", "hidden", "classes", "n-grams"
BACKWARDS, TEXTS, IN_ROW = "tokens from the last", "texts", "texts of a row"
"""The meanings of the axes of matrices."""
TOKENS_BY_FEATURES = (TOKENS, FEATURES)
OUT, IN = "outputs", "inputs"
"""The axes of a weight."""

FORMULAS: Mapping[str, str] = {
    "given": "given",
    "weight": "learned or fixed",
    "lookup": "row of the table {table} for each token id",
    "lookup-in-row": "row of the table {table} for each token id, plus that of its text, plus the last vector if the "
    "token is in another text too",
    "same": "the same numbers",
    "one-hot": "1 in the column of the word of each token id; 0 elsewhere, and for padding and unknown words",
    "add": "a + b",
    "add-with-bias": "a + b + c, with one number of c for each row",
    "rotate": "a·cos ∓ a′·sin, where a′ is the other feature of the pair (Su et al. 2021, eq. 34)",
    "linear": "x Wᵀ",
    "linear-with-bias": "x Wᵀ + b",
    "matmul": "a b",
    "matmul-with-bias": "a b + c, with one number of c for each row",
    "transpose": "xᵀ",
    "z-score": "(x − mean(x)) / deviation(x), in each row, with the sample deviation",
    "layer-norm": "(x − mean(x)) / √(var(x) + {eps:g}) · weight + bias, in each row",
    "rms-norm": "x / √(mean(x²) + {eps:g}) · weight, in each row",
    "batch-norm": "(x − running mean) / √(running var + {eps:g}) · weight + bias, in each column",
    "head": "each head takes its columns of x",
    "rotated-head": "each head takes its columns of x, rotated: a·cos ∓ a′·sin (Su et al. 2021, eq. 34)",
    "scores": "Q Kᵀ / √{head_dim} (Vaswani et al. 2017, eq. 1)",
    "scores-of-texts": "q · k / √{head_dim}, with the same position of each text of the batch: here one text",
    "softmax": "eˣ / Σ eˣ, in each row",
    "softmax-of-columns": "eˣ / Σ eˣ, in each column",
    "sigmoid": "1 / (1 + e⁻ˣ)",
    "ordered-logits": "ln(σ(x − θₖ₋₁) − σ(x − θₖ)); θ₁ is the first step, and each other one adds ln(1 + e^step) "
    "(McCullagh 1980, §2)",
    "mix": "weights times values",
    "join": "the heads side by side",
    "beside": "one beside the other",
    "below": "a, and b below it",
    "reversed": "the rows of x from last to first",
    "previous": "x one token before; zeros before the first",
    "activation": "{function}(x), of {which} of x",
    "gate": "a ⊗ x, with the last columns of x",
    "product": "a ⊗ b",
    "two-products": "a ⊗ b + c ⊗ d",
    "complement": "1 − x",
    "pick": "the {row} row of x",
    "mean": "mean of each column",
    "max": "largest value of each column",
    "query-scores": "x·query / √{d_model}",
    "weighted-mean": "Σ weight · row",
    "flatten": "the rows one after the other, then zeros",
    "columns": "{which} of x",
    "scale": "{factor:.6g} · x",
    "divide": "x / {divisor:.6g}",
    "column-sum": "sum of each column, plus the bias",
}
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
    axes = (rows, CLASSES) if rows else (CLASSES,)
    step = Step(name=name, operation=operation, inputs=inputs, axes=axes, settings=settings)
    return Matrix(step=step, values=values.astype(np.float32))
