"""The page of a trace: one file with all numbers, in which each number shows where it comes from."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.arrays import FloatArray
from glassformer.data.files import write_aside
from glassformer.data.wording import percent
from glassformer.pages.html import asset, embedded, page
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
    answer = f"{escape(found.label)} ({percent(found['probabilities'].max())})"
    return page(
        "Every number of an answer",
        "trace",
        subtitle=f"{answer}, for “{escape(found.text)}”",
        headline=f'{_how_to_read(found)}<div id="controls"></div>{embedded("trace-data", _document(found, exercise))}',
        sections={
            key: (title, f'<div class="stage" id="stage-{key}"></div>') for key, title in STAGES.items() if key in used
        },
        footer="Dropout is left out: it does nothing when a model answers.",
        style=asset("tracing", "trace.css"),
        module=asset("tracing", "sources.js") + asset("tracing", "trace.js"),
    )


def _how_to_read(found: Trace) -> str:
    two_readers = any(matrix.step.name == "transformer.weighted" for matrix in found)
    whose = "transformer" if two_readers else "model"
    against = "" if found.rival is None else f" minus that of {escape(found.rival)}"
    left_out = ""
    if found.weights_left_out:
        left_out = f" The {found.weights_left_out:,} weights of this model are too many for a page and left out."
    label = escape(found.label)
    note = f"<p><strong>{escape(found.note)}</strong></p>" if found.note else ""
    return (
        f"{note}"
        "<p>Point at a number: the numbers that it comes from are outlined. Click it, or press Enter, to see the "
        "arithmetic. The arrow keys move. A large matrix is shown in part: buttons beside it move the part.</p>"
        f'<p class="soft">Gradients are those of the {whose}’s logit of {label}{against}.{left_out}</p>'
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
