"""Write a trace: as a page in which each number shows where it comes from, and for programs as .npz or JSON."""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.files import write_aside, written_aside
from glassformer.pages.html import rendered
from glassformer.tracing.exercise import Blank
from glassformer.tracing.steps import BACKWARDS, CLASSES, NGRAMS, PARTS, RULES, TEXTS, TOKENS, WORDS, Matrix
from glassformer.tracing.trace import Trace

BLOCKS = "blocks."
"""How the names of steps in blocks begin. The number of the block follows."""
STAGES: Mapping[str, str] = {
    "words": "Words become vectors",
    "block": "Block",
    "forwards": "Read from the first token to the last",
    "backwards": "Read from the last token to the first",
    "text": "Vectors become logits",
    "counting": "The counting reader",
    "body": "The body",
    "answer": "The answer",
}
"""The parts of a page in their order, and their headings."""
_OF_MANY_STEPS: Mapping[str, str] = {
    "blocks": "block", "forwards": "forwards", "backwards": "backwards", "counting": "counting", "body": "body",
    "encoder": "answer", "rules": "answer",
}  # fmt: skip
_ANSWER = (
    "transformer.weighted",
    "sum of 2",
    "sum of 3",
    "sum of 4",
    "sum",
    "calibrated",
    "probabilities",
    "costs",
    "expected_costs",
    "left_out",
    "given_wrongly",
    "in_unit",
    "number",
)
_WORDS = (
    "token_ids", "embedding", "word_emb", "one_hot", "one_hot_columns", "positions", "positions.output",
    "embedding_norm.output", "rotation", "positioned", "words",
)  # fmt: skip


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


def write_npz(path: Path, found: Trace) -> None:
    """Write all matrices by their names, gradients as `gradient/NAME`, and what rows are, such as `tokens`."""
    arrays: dict[str, Array] = {
        "tokens": np.array(found.tokens, np.str_),
        "ngrams": np.array(found.ngrams, np.str_),
        "rules": np.array(found.rules, np.str_),
        "body_words": np.array(found.words, np.str_),
        "body_parts": np.array(found.parts, np.str_),
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
        "rules": found.rules,
        "body_words": found.words,
        "body_parts": found.parts,
        "labels": found.labels,
        "label": found.label,
        "rival": found.rival,
        "asked": found.asked,
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


def _document(found: Trace, exercise: Sequence[Blank]) -> dict[str, Any]:
    axes = {
        TOKENS: found.tokens,
        BACKWARDS: found.tokens[::-1],
        NGRAMS: found.ngrams,
        RULES: found.rules,
        WORDS: found.words,
        PARTS: found.parts,
        CLASSES: found.labels,
    }
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


def stages_of(matrices: Iterable[Matrix]) -> list[str]:
    """Return the part of the page for each matrix. A weight stands before the first matrix that needs it."""
    found: list[str] = []
    waiting = 0
    for matrix in matrices:
        if matrix.step.operation == "weight":
            waiting += 1
            continue
        name = matrix.step.name
        stage = "answer" if name in _ANSWER else _OF_MANY_STEPS.get(name.partition(".")[0], "")
        if not stage:
            stage = "words" if name in _WORDS else "text"
        found += [stage] * (1 + waiting)
        waiting = 0
    return found


def title_of(name: str) -> str:
    """Return the name of a step in words. Some designs have a step for each head or direction."""
    if not name.startswith("heads."):
        direction, _, short = name.partition(".")
        return _titles().get(short if direction in ("forwards", "backwards") else name, name)
    _, head, *rest = name.split(".")
    of_head = {"query": "queries", "key": "keys", "value": "values", "scores": "scores", "weights": "attention weights"}
    return f"Head {int(head) + 1}: {of_head.get('.'.join(rest), 'weighted values')}"


@cache
def _titles() -> dict[str, str]:
    return tomllib.loads(files(__package__).joinpath("titles.toml").read_text(encoding="utf-8"))
