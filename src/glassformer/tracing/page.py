"""The page of a trace: one file with all numbers, in which each number shows where it comes from."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.arrays import FloatArray
from glassformer.data.files import write_aside
from glassformer.pages.html import rendered
from glassformer.tracing.exercise import Blank
from glassformer.tracing.steps import BACKWARDS, CLASSES, NGRAMS, TEXTS, TOKENS
from glassformer.tracing.titles import BLOCKS, STAGES, stages_of, title_of
from glassformer.tracing.trace import Matrix, Trace


def write_trace(path: Path, found: Trace, exercise: Sequence[Blank] = ()) -> None:
    """Write the page. It is self-contained, and replaces an earlier one only when it is complete."""
    write_aside(path, render(found, exercise))


def render(found: Trace, exercise: Sequence[Blank] = ()) -> str:
    """Return the page as HTML. Everything from the text and the labels is escaped.

    Args:
        exercise: cells to leave blank. The page checks what a reader fills in.
    """
    used = set(stages_of(found))
    return rendered(
        "tracing/page",
        title="Every number of an answer",
        kind="trace",
        found=found,
        two_readers=any(matrix.step.name == "transformer.weighted" for matrix in found),
        document=_document(found, exercise),
        stages=[(key, title) for key, title in STAGES.items() if key in used],
    )


def _document(found: Trace, exercise: Sequence[Blank]) -> dict[str, Any]:
    axes = {TOKENS: found.tokens, BACKWARDS: found.tokens[::-1], NGRAMS: found.ngrams, CLASSES: found.labels}
    axes[TEXTS] = ("this text",)
    matrices = [_matrix(matrix, stage) for matrix, stage in zip(found, stages_of(found), strict=True)]
    blanks = [{"name": blank.name, "cell": blank.cell} for blank in exercise]
    return {"axes": axes, "matrices": matrices, "exercise": blanks}


def _matrix(matrix: Matrix, stage: str) -> dict[str, Any]:
    step = matrix.step
    block = int(step.name.split(".")[1]) if step.name.startswith(BLOCKS) else None
    short = step.name if block is None else step.name.removeprefix(f"{BLOCKS}{block}.")
    return {
        "name": step.name,
        "title": title_of(short),
        "stage": stage,
        "block": block,
        "operation": step.operation,
        "formula": step.formula,
        "inputs": step.inputs,
        "settings": dict(step.settings),
        "axes": step.axes,
        "shape": matrix.values.shape,
        "values": _packed(matrix.values),
        "gradient": None if matrix.gradient is None else _packed(matrix.gradient),
    }


def _packed(values: FloatArray) -> str:
    """Return the bytes of the numbers, little-endian float32, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()
