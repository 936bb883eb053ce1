"""The page of a trace: one file with all numbers, in which each number shows where it comes from."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.files import write_aside
from glassformer.pages.html import page
from glassformer.tracing.exercise import Blank
from glassformer.tracing.hearing import Array
from glassformer.tracing.trace import Matrix, Trace

_TITLES = {
    "token_ids": "Token ids",
    "embedding": "Embeddings",
    "positions": "With positions",
    "positions.output": "With positions",
    "attention_pre_norm.output": "Normalised for attention",
    "attention.in_projection": "Queries, keys and values of all heads",
    "attention.query": "Queries",
    "attention.key": "Keys",
    "attention.value": "Values",
    "attention.scores": "Scores",
    "attention.weights": "Attention weights",
    "attention.heads": "Weighted values",
    "attention.joined": "The heads side by side",
    "attention.output": "What attention gives",
    "after_attention": "Added to the input of the block",
    "attention_post_norm.output": "Normalised",
    "feed_forward_pre_norm.output": "Normalised for the feed-forward",
    "feed_forward.in_projection": "Inside the feed-forward",
    "feed_forward.activation": "After the activation",
    "feed_forward.product": "Gate times value",
    "feed_forward.output": "What the feed-forward gives",
    "after_feed_forward": "Added: the output of the block",
    "feed_forward_post_norm.output": "Normalised: the output of the block",
    "norm.output": "The last norm",
    "embedding_norm.output": "Normalised embeddings",
    "hidden": "The last hidden states",
    "pooling.scores": "Scores of the pooling",
    "pooling.weights": "Weights of the pooling",
    "pooled": "The vector of the text",
    "head.in_projection": "Inside the head",
    "rotation": "Rotated by their positions",
    "norm1.output": "Normalised",
    "gate": "The gate, before its sigmoid",
    "activation": "The gate",
    "value": "The values of the feed-forward",
    "product": "Gate times value",
    "out": "What the feed-forward gives",
    "norm2.output": "Normalised: the output of the block",
    "classifier": "Logits of all classes",
    "word_emb": "Embeddings",
    "scores": "Scores",
    "weights": "Attention weights",
    "attention": "Weighted words",
    "flattened": "The words one after the other",
    "fc": "The linear layer",
    "positioned": "With positions",
    "layernorm1": "Normalised for attention",
    "joined": "The heads side by side",
    "projection.0": "What attention gives",
    "layernorm2": "Normalised for the feed-forward",
    "feedforward.0": "Inside the feed-forward",
    "feedforward.1": "After the activation",
    "feedforward.2": "What the feed-forward gives",
    "final_layernorm": "The last norm",
    "final_linear": "Logits of each token",
    "head.activation": "After the activation",
    "head.norm": "Normalised",
    "logits": "Logits of the transformer",
    "counting.ngrams": "What each n-gram adds",
    "counting.logits": "Logits of counting",
    "counting.weighted": "Counting, times its weight",
    "transformer.weighted": "Transformer, times its weight",
    "sum": "Both readers together",
    "calibrated": "Divided by the temperature",
    "probabilities": "Probabilities",
}
_BLOCKS = "blocks."


def write_trace(path: Path, found: Trace, exercise: Sequence[Blank] = ()) -> None:
    """Write the page. It is self-contained, and replaces an earlier one only when it is complete."""
    write_aside(path, render(found, exercise))


def render(found: Trace, exercise: Sequence[Blank] = ()) -> str:
    """Return the page as HTML. Everything from the text and the labels is escaped.

    Args:
        exercise: cells to leave blank. The page checks what a reader fills in.
    """
    document = json.dumps(_document(found, exercise), ensure_ascii=True).replace("<", "\\u003c")
    data = f'<script type="application/json" id="trace-data">{document}</script>'
    answer = f"{escape(found.label)} ({found['probabilities'].max():.1%})"
    return page(
        "Every number of an answer",
        "trace",
        subtitle=f"{answer}, for “{escape(found.text)}”",
        headline=f"{_how_to_read(found)}<noscript><p>This page needs JavaScript. It is in this file.</p></noscript>"
        f'<div id="controls"></div>{data}',
        sections={key: (title, f'<div class="stage" id="stage-{key}"></div>') for key, title in _stages(found).items()},
        footer="Dropout is left out: it does nothing when a model answers.",
        style=_asset("trace.css"),
        module=_asset("sources.js") + _asset("trace.js"),
    )


def _how_to_read(found: Trace) -> str:
    against = "" if found.rival is None else f" minus that of {escape(found.rival)}"
    left_out = ""
    if found.weights_left_out:
        left_out = f" The {found.weights_left_out:,} weights of this model are too many for a page and left out."
    label = escape(found.label)
    return (
        "<p>Point at a number: the numbers that it comes from are outlined. Click it, or press Enter, to see the "
        "arithmetic. The arrow keys move. A large matrix is shown in part: buttons beside it move the part.</p>"
        f'<p class="soft">Gradients are those of the transformer’s logit of {label}{against}.{left_out}</p>'
    )


def _stages(found: Trace) -> dict[str, str]:
    stages = {"words": "Words become vectors", "block": "Block", "text": "Vectors become logits"}
    if found.ngrams or any(matrix.step.name == "counting.bias" for matrix in found):
        stages["counting"] = "The counting reader"
    return stages | {"answer": "The answer"}


def _document(found: Trace, exercise: Sequence[Blank]) -> dict[str, Any]:
    axes = {"tokens": found.tokens, "n-grams": found.ngrams, "classes": found.labels}
    stage, matrices = "words", []
    for matrix in found:
        name = matrix.step.name
        if name.startswith(_BLOCKS):
            stage = "block"
        elif name.startswith("counting."):
            stage = "counting"
        elif name in ("transformer.weighted", "sum", "calibrated", "probabilities"):
            stage = "answer"
        elif stage == "block":
            stage = "text"
        matrices.append(_matrix(matrix, stage))
    blanks = [{"name": blank.name, "cell": blank.cell} for blank in exercise]
    return {"axes": axes, "matrices": matrices, "exercise": blanks}


def _matrix(matrix: Matrix, stage: str) -> dict[str, Any]:
    step = matrix.step
    block = int(step.name.split(".")[1]) if step.name.startswith(_BLOCKS) else None
    short = step.name if block is None else step.name.removeprefix(f"{_BLOCKS}{block}.")
    return {
        "name": step.name,
        "title": _title(short),
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


def _title(name: str) -> str:
    """Return the name of a step in words. Some designs have a step for each head."""
    if not name.startswith("heads."):
        return _TITLES.get(name, name)
    _, head, *rest = name.split(".")
    of_head = {"query": "queries", "key": "keys", "value": "values", "scores": "scores", "weights": "attention weights"}
    return f"Head {int(head) + 1}: {of_head.get('.'.join(rest), 'weighted values')}"


def _packed(values: Array) -> str:
    """Return the bytes of the numbers, little-endian float32, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
