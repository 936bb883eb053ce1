"""The operations of a trace in NumPy, in float64: it recomputes every matrix from the weights and the token ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import erf, expit

from glassformer.data.arrays import Array
from glassformer.tracing.steps import Step


def recomputed(steps: list[Step], tensors: Mapping[str, Array], given: Mapping[str, Array]) -> dict[str, Array]:
    """Compute each step from the steps before it. Only weights and what is given are read.

    The rows of a recurrent model come from each other. They are computed as often as there are tokens: each time, one
    row more is right.
    """
    found = _pass(steps, tensors, given, {})
    if any(step.operation == "previous" for step in steps):
        for _ in given["token_ids"]:
            found = _pass(steps, tensors, given, found)
    return found


def _pass(
    steps: list[Step], tensors: Mapping[str, Array], given: Mapping[str, Array], last: Mapping[str, Array]
) -> dict[str, Array]:
    length = len(given["token_ids"])
    found: dict[str, Array] = {}
    for step in steps:
        if step.operation == "given" or step.name in given:
            found[step.name] = given[step.name].astype(np.float64)
        elif step.operation == "weight":
            found[step.name] = tensors[step.name].astype(np.float64)[: length if step.axes[0] == "tokens" else None]
        elif step.operation == "lookup":
            found[step.name] = tensors[step.settings["table"]].astype(np.float64)[given["token_ids"].astype(int)]
        elif step.operation == "lookup-in-row":
            found[step.name] = _in_row(step, tensors, given["token_ids"].astype(int))
        elif step.operation == "previous":
            width = next(len(tensors[name][0]) for name in tensors if "weight_hh" in name)
            rows = last.get(step.inputs[0], np.zeros((length, width)))
            found[step.name] = np.concatenate([np.zeros((1, width)), rows[:-1]])
        else:
            found[step.name] = _compute(step, [found[name] for name in step.inputs])
    return found


def _compute(step: Step, read: list[Array]) -> Array:
    x, settings = read[0], step.settings
    if step.operation in PLAIN:
        result: Array = PLAIN[step.operation](*read)
        return result
    if step.operation.endswith("norm"):
        return _norm(step, *read)
    if step.operation in ("head", "rotated-head"):
        part = np.split(x, 3, axis=1)[settings["part"]]
        width = settings["head_dim"]
        heads = np.stack([part[:, start : start + width] for start in range(0, part.shape[1], width)])
        return heads if step.operation == "head" else _rotate(heads, *read[1:])
    if step.operation == "scores":
        return _scores(x, read[1], settings)
    if step.operation == "activation":
        return FUNCTIONS[settings["function"]](x[..., settings["skipped"] : settings["skipped"] + settings["columns"]])
    if step.operation == "one-hot":
        return np.eye(settings["first"] + settings["words"])[x.astype(int), settings["first"] :]
    if step.operation == "pick":
        return x[0 if settings["row"] == "first" else -1]
    if step.operation == "flatten":
        return np.concatenate([x.ravel(), np.zeros(24 * x.shape[1] - x.size)]) if step.name == "pooled" else x.ravel()
    if step.operation == "columns":
        return x[..., settings["skipped"] : settings["skipped"] + settings["columns"]]
    if step.operation == "scores-of-texts":
        return np.sum(x * read[1], axis=-1, keepdims=True) / np.sqrt(settings["head_dim"])
    if step.operation == "part-mean":
        return np.array([x[rows].sum(axis=0) / max(1, len(rows)) for rows in settings["parts"]]).reshape(-1, x.shape[1])
    if step.operation == "share":
        of_text = [sum(x[np.array(settings["texts"]) == text]) for text in settings["texts"]]
        return np.divide(x, np.array(of_text) + settings["pseudocount"], out=np.zeros_like(x), where=x > 0)
    if step.operation == "unit-length":
        lengths = [np.linalg.norm(x[np.array(settings["vectors"]) == vector]) for vector in settings["vectors"]]
        return x / np.array(lengths)
    assert step.operation in ("scale", "divide"), step.operation
    return x * settings["factor"] if step.operation == "scale" else x / settings["divisor"]


def _in_row(step: Step, tensors: Mapping[str, Array], ids: Array) -> Array:
    """Vectors of tokens, each with that of its text, and with another one if it is in another text too."""
    table, (text, match) = tensors[step.settings["table"]], (tensors[name] for name in step.inputs[1:])
    separators = ids == step.settings["separator"]
    places = np.minimum(separators.cumsum(), len(text) - 1)
    words = (ids >= step.settings["n_special"]) & ~separators
    matched = [
        word and bool((ids[places != place] == id_).any()) for id_, place, word in zip(ids, places, words, strict=True)
    ]
    return (table[ids] + text[places] + np.array(matched)[:, None] * match).astype(np.float64)


def _ordered(score: Array, steps: Array) -> Array:
    thresholds = np.concatenate([steps[:1], np.log1p(np.exp(steps[1:]))]).cumsum()
    return np.log(-np.diff(np.concatenate([[1.0], expit(score - thresholds), [0.0]])))


def _norm(step: Step, x: Array, *weights: Array) -> Array:
    eps = step.settings["eps"]
    if step.operation == "batch-norm":
        mean, variance, weight, bias = weights
        return (x - mean) / np.sqrt(variance + eps) * weight + bias
    if step.operation == "rms-norm":
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weights[0]
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * weights[0]
    return scaled + weights[1] if len(weights) > 1 else scaled


def _rotate(x: Array, cos: Array, sin: Array) -> Array:
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _scores(query: Array, key: Array, settings: Mapping[str, Any]) -> Array:
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(settings["head_dim"])
    distance = np.arange(scores.shape[-2])[:, None] - np.arange(scores.shape[-1])
    seen = {
        "full": np.full(distance.shape, True),
        "causal": distance >= 0,
        "local": abs(distance) <= settings.get("reach", 0),
    }[settings["pattern"]]
    return np.where(seen, scores, -np.inf)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _gelu_tanh(x: Array) -> Array:
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + erf(x / np.sqrt(2))),
    "gelu-tanh": _gelu_tanh,
    "sigmoid": expit,
    "silu": lambda x: x * expit(x),
    "tanh": np.tanh,
}
PLAIN: Mapping[str, Callable[..., Array]] = {
    "same": lambda x: x,
    "tf-idf": lambda x, idf: (1 + np.log(x)) * idf,
    "scaled-rows": lambda x, weights: x[:, None] * weights,
    "scaled-rows-plus": lambda x, weights, added: x[:, None] * weights + added,
    "ordered-logits": _ordered,
    "add": lambda a, b: a + b,
    "rotate": _rotate,
    "linear": lambda x, weight: x @ weight.T,
    "linear-with-bias": lambda x, weight, bias: x @ weight.T + bias,
    "softmax": _softmax,
    "sigmoid": expit,
    "mix": lambda weights, value: weights @ value,
    "matmul": lambda a, b: a @ b,
    "matmul-with-bias": lambda a, b, bias: a @ b + bias,
    "add-with-bias": lambda a, b, bias: a + b + bias,
    "transpose": np.transpose,
    "reversed": lambda x: x[::-1],
    "z-score": lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, ddof=1, keepdims=True),
    "softmax-of-columns": lambda x: _softmax(x.T).T,
    "complement": lambda x: 1 - x,
    "two-products": lambda a, b, c, d: a * b + c * d,
    "beside": lambda *parts: np.concatenate(parts, axis=-1),
    "below": lambda *parts: np.concatenate(parts, axis=0),
    "join": lambda heads: np.concatenate(list(heads), axis=1),
    "product": lambda a, b: a * b,
    "gate": lambda a, x: a * x[..., -a.shape[-1] :],
    "mean": lambda x: x.mean(axis=0),
    "max": lambda x: x.max(axis=0),
    "query-scores": lambda x, query: x @ query / np.sqrt(len(query)),
    "weighted-mean": lambda weights, x: weights @ x,
    "column-sum": lambda x, bias: x.sum(axis=0) + bias,
}
