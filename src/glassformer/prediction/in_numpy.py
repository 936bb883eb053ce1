"""The forward pass of our transformer in NumPy, for a few texts: it has answered before PyTorch is imported.

From token ids to the logits of the transformer, without taps and training. `models/classifier.py` is the model in
PyTorch, and tests compare both. `prediction/answering.py` adds the other readers, and makes probabilities of the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from glassformer.data.arrays import BoolArray, FloatArray, IntArray
from glassformer.models.model_config import ModelConfig, SeveralTextsConfig

_DESIGNS: Mapping[str, type[ModelConfig]] = {"classifier": ModelConfig, "several-texts": SeveralTextsConfig}
_SUPPORTED = {"embedding": {"learned"}, "norm": {"rms", "layer"}, "head": {"classes"}}
_LONGEST = 1024  # tokens: the weights of attention are stored, for all pairs of them
_SPECIAL = 3  # the first token that is a word (see `layers/embeddings.py`)
_WAVES = 0.02  # the amplitude of sinusoidal positions (see `models/bricks.py`)


class NotInNumpyError(Exception):
    """The model has a part that is only written in PyTorch, or other weights than NumPy reads."""


class NumpyClassifier:
    """Computes the logits (windows, n_classes) of token ids and their mask (windows, seq), in float32.

    A text longer than `max_seq_len` tokens is read in several windows. The mask is False on padding.
    """

    def __init__(self, config: ModelConfig, vocab_size: int, weights: Mapping[str, FloatArray]) -> None:
        self.config, self.vocab_size, self.weights = config, vocab_size, weights

    @classmethod
    def load(cls, path: Path, settings: Mapping[str, Any], vocab_size: int, n_classes: int) -> NumpyClassifier:
        """Read the weights of a model folder.

        Args:
            settings: `model` of its `config.json`.

        Raises:
            NotInNumpyError: see there.
            ValidationError: the settings are wrong.
        """
        if (design := _DESIGNS.get(settings.get("design", "classifier"))) is None:
            raise NotInNumpyError
        config = design.model_validate(settings)
        supported = all(getattr(config, name) in known for name, known in _SUPPORTED.items())
        if not supported or config.max_seq_len > _LONGEST:
            raise NotInNumpyError
        try:
            with np.errstate(over="ignore"), safe_open(path, framework="np") as file:
                stored = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it is not a mapping)
                found = {name: tuple(each.get_shape()) for name, each in stored.items()}
                types = {each.get_dtype() for each in stored.values()}
                if found != _shapes(config, vocab_size, n_classes) or not types <= {"F64", "F32", "F16"}:
                    raise NotInNumpyError
                weights = {name: file.get_tensor(name).astype(np.float32) for name in stored}
        except (SafetensorError, OSError) as error:
            raise NotInNumpyError from error
        if not all(np.isfinite(weight).all() for weight in weights.values()):
            raise NotInNumpyError
        return cls(config, vocab_size, weights)

    @np.errstate(all="ignore")  # damaged weights overflow, and the answer says so
    def __call__(self, token_ids: IntArray, attention_mask: BoolArray) -> FloatArray:
        hidden = self._positions(self._embedding(token_ids))
        for number in range(self.config.n_layers):
            hidden = self._block(f"trunk.blocks.{number}", hidden, attention_mask)
        if self.config.residual == "pre-norm":
            hidden = self._norm("trunk.norm", hidden)
        return self._pooled(hidden, attention_mask) @ self.weights["head.weight"].T + self.weights["head.bias"]

    def _embedding(self, token_ids: IntArray) -> FloatArray:
        vectors = self.weights["trunk.embedding.weight"][token_ids]
        if not isinstance(self.config, SeveralTextsConfig):
            return vectors
        separator = self.vocab_size - 1 if self.config.separator is None else self.config.separator
        text = np.minimum((token_ids == separator).cumsum(axis=1), self.config.texts - 1)
        same, other = (token_ids[:, :, None] == token_ids[:, None]), (text[:, :, None] != text[:, None])
        matches = (same & other).any(axis=2) & (token_ids >= _SPECIAL) & (token_ids != separator)
        of_texts = self.weights["trunk.embedding.text"][text]
        return vectors + of_texts + matches[:, :, None] * self.weights["trunk.embedding.match"]

    def _positions(self, hidden: FloatArray) -> FloatArray:
        _, seq, width = hidden.shape
        if self.config.positions == "learned":
            return hidden + self.weights["trunk.positions.weight"][:seq]
        if self.config.positions == "sinusoidal":
            angles = _angles(seq, width)
            waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(seq, -1)[:, :width]
            return hidden + _WAVES * waves.astype(np.float32)
        return _rotated(hidden) if self.config.positions == "rotary-on-embeddings" else hidden

    def _block(self, name: str, hidden: FloatArray, attention_mask: BoolArray) -> FloatArray:
        steps: dict[str, Callable[[FloatArray], FloatArray]] = {
            "attention": lambda normed: self._attention(f"{name}.attention", normed, attention_mask),
            "feed_forward": lambda normed: self._feed_forward(f"{name}.feed_forward", normed),
        }
        for step, branch in steps.items():
            if self.config.residual == "pre-norm":
                hidden = hidden + branch(self._norm(f"{name}.{step}_pre_norm", hidden))
            else:
                hidden = self._norm(f"{name}.{step}_post_norm", hidden + branch(hidden))
        return hidden

    def _norm(self, name: str, hidden: FloatArray) -> FloatArray:
        if self.config.norm == "rms":
            return hidden / np.sqrt(np.square(hidden).mean(-1, keepdims=True) + 1e-6) * self.weights[f"{name}.weight"]
        centred = hidden - hidden.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-5)
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _attention(self, name: str, hidden: FloatArray, attention_mask: BoolArray) -> FloatArray:
        batch, seq, width = hidden.shape
        projected = hidden @ self.weights[f"{name}.in_projection.weight"].T
        by_head = projected.reshape(batch, seq, 3, self.config.n_heads, -1)
        query, key, value = by_head.transpose(2, 0, 3, 1, 4)  # 3 × (batch, heads, seq, head_dim)
        if self.config.positions == "rotary":
            query, key = _rotated(query), _rotated(key)
        allowed = attention_mask[:, None, None, :]
        if self.config.attention == "causal":
            allowed = (allowed & np.tri(seq, dtype=bool)) | np.eye(seq, dtype=bool)
        scores = np.where(allowed, query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(query.shape[-1])), -np.inf)
        mixed = _softmax(scores) @ value
        return mixed.swapaxes(1, 2).reshape(batch, seq, width) @ self.weights[f"{name}.out_projection.weight"].T

    def _feed_forward(self, name: str, hidden: FloatArray) -> FloatArray:
        kind = self.config.feed_forward
        if kind != "linear":
            hidden = hidden @ self.weights[f"{name}.in_projection.weight"].T
        if kind in _GATES:
            gate, value = np.split(hidden, 2, axis=-1)
            hidden = _GATES[kind](gate) * value
        elif kind in _ACTIVATIONS:
            hidden = _ACTIVATIONS[kind](hidden)
        return hidden @ self.weights[f"{name}.out_projection.weight"].T

    def _pooled(self, hidden: FloatArray, attention_mask: BoolArray) -> FloatArray:
        batch, seq, width = hidden.shape
        kept = attention_mask[:, :, None]
        if self.config.pooling == "first":
            return hidden[np.arange(batch), attention_mask.argmax(axis=1)]
        if self.config.pooling == "last":
            return hidden[np.arange(batch), (np.arange(seq) * attention_mask).argmax(axis=1)]
        if self.config.pooling == "max":
            return np.where(kept, hidden, -np.inf).max(axis=1)
        if self.config.pooling == "flatten":
            return np.pad(hidden * kept, ((0, 0), (0, self.config.max_seq_len - seq), (0, 0))).reshape(batch, -1)
        scores = np.zeros((batch, seq), np.float32)  # all alike: the weights below are those of the mean
        if self.config.pooling == "attention":
            scores = hidden @ self.weights["pooling.query"] / np.float32(np.sqrt(width))
        weights = _softmax(np.where(attention_mask, scores, -np.inf))
        return (weights[:, None] @ hidden)[:, 0]


def _shapes(config: ModelConfig, vocab_size: int, n_classes: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight by its name."""
    width, inner, pre = config.d_model, config.d_ff, config.residual == "pre-norm"
    pooled = width * (config.max_seq_len if config.pooling == "flatten" else 1)
    shapes: dict[str, tuple[int, ...]] = {
        "trunk.embedding.weight": (vocab_size, width),
        "head.weight": (n_classes, pooled),
        "head.bias": (n_classes,),
    }
    if isinstance(config, SeveralTextsConfig):
        shapes |= {"trunk.embedding.text": (config.texts, width), "trunk.embedding.match": (width,)}
    if config.positions == "learned":
        shapes["trunk.positions.weight"] = (config.max_seq_len, width)
    if config.pooling == "attention":
        shapes["pooling.query"] = (width,)
    norms = ["trunk.norm"] if pre else []
    for number in range(config.n_layers):
        block = f"trunk.blocks.{number}"
        norms += [f"{block}.{step}_{'pre' if pre else 'post'}_norm" for step in ("attention", "feed_forward")]
        shapes[f"{block}.attention.in_projection.weight"] = (3 * width, width)
        shapes[f"{block}.attention.out_projection.weight"] = (width, width)
        if config.feed_forward == "linear":
            inner = width
        else:
            gated = 2 if config.feed_forward in _GATES else 1
            shapes[f"{block}.feed_forward.in_projection.weight"] = (gated * inner, width)
        shapes[f"{block}.feed_forward.out_projection.weight"] = (width, inner)
    values = ("weight", "bias") if config.norm == "layer" else ("weight",)
    return shapes | {f"{norm}.{value}": (width,) for norm in norms for value in values}


def _angles(seq: int, width: int) -> np.ndarray:
    """Return t·ω_i (seq, ⌈width/2⌉) in float64 (see `layers/positions.py`)."""
    return np.arange(seq)[:, None] * 10_000.0 ** (-np.arange(0, width, 2) / width)


def _rotated(features: FloatArray) -> FloatArray:
    """Return the features (…, seq, width) as `Rotary` turns them."""
    angles = _angles(*features.shape[-2:])
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first, second = np.split(features, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _softmax(scores: FloatArray) -> FloatArray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _sigmoid(values: FloatArray) -> FloatArray:
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * values) + np.float32(1))


def _gelu(values: FloatArray) -> FloatArray:
    """Return x·Φ(x), with erf to 1.5e-7 (Abramowitz & Stegun 1964, eq. 7.1.26): SciPy's would have to be imported."""
    size = np.abs(values) * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.polynomial.polynomial.polyval(t, _ERF, tensor=False)
    tail = np.float32(0.5) * series * np.exp(-np.square(size))  # Φ(−|x|)
    return values * np.where(values < 0, tail, 1 - tail)


_ERF = np.array([0, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429], np.float32)
_ACTIVATIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {"relu": lambda x: np.maximum(x, 0), "gelu": _gelu}
_GATES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "glu": _sigmoid, "swiglu": lambda x: x * _sigmoid(x), "geglu": _gelu
}  # fmt: skip
