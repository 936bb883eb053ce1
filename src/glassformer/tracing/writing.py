"""Write a trace for programs: as an .npz file of NumPy, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.files import written_aside
from glassformer.tracing.trace import Trace


def write_npz(path: Path, found: Trace) -> None:
    """Write all matrices by their names, the gradients as `gradient/NAME`, and `tokens`, `ngrams` and `labels`."""
    arrays: dict[str, Array] = {
        "tokens": np.array(found.tokens, np.str_),
        "ngrams": np.array(found.ngrams, np.str_),
        "labels": np.array(found.labels, np.str_),
    }
    for matrix in found:
        arrays[matrix.step.name] = matrix.values
        if matrix.gradient is not None:
            arrays[f"gradient/{matrix.step.name}"] = matrix.gradient
    with written_aside(path) as aside, aside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def as_json(found: Trace) -> dict[str, Any]:
    """Return a trace as JSON values. −∞, the score of a token that may not be looked at, is null."""
    return {
        "text": found.text,
        "tokens": found.tokens,
        "ngrams": found.ngrams,
        "labels": found.labels,
        "label": found.label,
        "rival": found.rival,
        "by_counting": found.by_counting,
        "weights_left_out": found.weights_left_out,
        "matrices": [
            {
                "name": matrix.step.name,
                "axes": matrix.step.axes,
                "shape": matrix.values.shape,
                "formula": matrix.step.formula,
                "inputs": matrix.step.inputs,
                "values": _numbers(matrix.values),
                "gradient": None if matrix.gradient is None else _numbers(matrix.gradient),
            }
            for matrix in found
        ],
    }


def _numbers(values: FloatArray) -> Any:
    """Return nested lists with as many digits as float32 has."""
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    return [float(str(value)) if np.isfinite(value) else None for value in values]
