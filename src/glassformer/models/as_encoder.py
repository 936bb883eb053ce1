"""Write our own classifier as a `PretrainedEncoder` with the same answers, so that other libraries can read it.

With the settings of our presets, the blocks are those of EuroBERT (Boizard et al. 2025): RMSNorm before attention and
feed-forward, rotary positions, gated feed-forward, no biases. Only the head differs. Ours is one matrix; that of the
encoder is a dense layer, GELU and a matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from glassformer.errors import UsageError
from glassformer.layers.norms import RMS_EPS
from glassformer.models.build import AnyModelConfig
from glassformer.models.model_config import ModelConfig
from glassformer.models.pretrained import PretrainedConfig

_GATES = {"geglu": "gelu", "swiglu": "silu", "glu": "sigmoid"}
_SAME: dict[str, tuple[str, ...]] = {
    "embedding": ("learned",),
    "positions": ("rotary",),
    "attention": ("full",),
    "norm": ("rms",),
    "residual": ("pre-norm",),
    "feed_forward": tuple(_GATES),
    "pooling": ("mean", "first"),
    "head": ("classes",),
}
"""The settings of our classifier, each with the values that the encoder has too."""
_NONE = "other libraries have no model like this one"
_TRUNK = "trunk."


def as_encoder(
    config: AnyModelConfig, weights: Mapping[str, Tensor], n_classes: int
) -> tuple[PretrainedConfig, dict[str, Tensor]]:
    """Return settings and weights of a `PretrainedEncoder` that computes the same logits. An encoder stays as it is.

    Raises:
        UsageError: a setting of the model has no equivalent, or the model is too narrow for its number of classes.
    """
    if isinstance(config, PretrainedConfig):
        return config, dict(weights)
    if not isinstance(config, ModelConfig):
        raise UsageError(
            f"{_NONE}: {config.design!r} is a published design; models of our own presets can be written, and "
            "fine-tuned checkpoints"
        )
    for setting, same in _SAME.items():
        if (value := getattr(config, setting)) not in same:
            raise UsageError(
                f"{_NONE}: model.{setting} is {value!r}; train with `model.{setting}={same[0]!r}`, as every preset does"
            )
    if 2 * n_classes > config.d_model:
        raise UsageError(
            f"{_NONE}: {n_classes:,} labels are more than half of model.d_model = {config.d_model}; train with a "
            f"model.d_model of {2 * n_classes:,} or more"
        )
    encoder = PretrainedConfig(**_shape(config))
    body = {name.removeprefix(_TRUNK): tensor for name, tensor in weights.items() if name.startswith(_TRUNK)}
    return encoder, body | _head(weights["head.weight"], weights["head.bias"])


def _shape(config: ModelConfig) -> dict[str, Any]:
    same = ("d_model", "n_layers", "n_heads", "d_ff", "max_seq_len", "dropout", "attention_dropout", "pooling")
    return {name: getattr(config, name) for name in same} | {
        "residual": "pre-norm",
        "norm": "rms",
        "norm_eps": RMS_EPS,
        "norm_bias": False,
        "embedding_norm": False,
        "attention_bias": False,
        "feed_forward": "gated",
        "feed_forward_bias": False,
        "activation": _GATES[config.feed_forward],
        "positions": "rotary",
        "head_activation": "gelu",
    }


def _head(weight: Tensor, bias: Tensor) -> dict[str, Tensor]:
    """Spell the logits z = W x + b with GELU between two matrices: gelu(z) − gelu(−z) = z Φ(z) + z Φ(−z) = z.

    The first 2·n_classes features of the dense layer are z and −z; the others are 0.
    """
    n_classes, d_model = weight.shape
    dense, dense_bias = weight.new_zeros(d_model, d_model), weight.new_zeros(d_model)
    dense[: 2 * n_classes] = torch.cat([weight, -weight])
    dense_bias[: 2 * n_classes] = torch.cat([bias, -bias])
    last = weight.new_zeros(n_classes, d_model)
    last[:, :n_classes] = torch.eye(n_classes)
    last[:, n_classes : 2 * n_classes] = -torch.eye(n_classes)
    return {
        "head.in_projection.weight": dense,
        "head.in_projection.bias": dense_bias,
        "head.out_projection.weight": last,
        "head.out_projection.bias": weight.new_zeros(n_classes),
    }
