"""Write our classifier as an encoder, and an encoder as a checkpoint of another library, so that it can read both.

The second is the reverse of `checkpoints.py`, by the same tables.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from glassformer.errors import UsageError
from glassformer.layers.norms import RMS_EPS
from glassformer.models.build import AnyModelConfig
from glassformer.models.checkpoints import Checkpoint, named_values
from glassformer.models.families import FAMILIES, Family
from glassformer.models.model_config import ModelConfig
from glassformer.models.pretrained import PretrainedConfig

_DROPOUTS = ("dropout", "attention_dropout")
_PAD_ID = 0
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


def write_config(config: PretrainedConfig, start: str) -> dict[str, Any]:
    """Describe an encoder by the `config.json` of its family, without vocabulary and labels.

    Several families may have the shape of the encoder, as BERT and RoBERTa do. The start token then decides.

    Raises:
        UsageError: no family has this shape.
    """
    by_token = sorted(FAMILIES.items(), key=lambda entry: entry[1].special_tokens[2] != start)
    shapes = {model_type: _described(config, model_type, family) for model_type, family in by_token}
    for raw in shapes.values():
        if raw is not None and _without_dropout(Checkpoint(raw, "").config) == _without_dropout(config):
            return raw
    titles = ", ".join(family.title for family in FAMILIES.values())
    raise UsageError(f"{config.in_words()}: this encoder has the shape of no family that can be written ({titles})")


def write_weights(config: PretrainedConfig, raw: Mapping[str, Any], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a `PretrainedEncoder` under the names of the family that `raw` names."""
    family = FAMILIES[raw["model_type"]]
    of_encoder = family.sources(config.n_layers)
    sources = {module: [family.prefix + source for source in theirs] for module, theirs in of_encoder.items()}
    sources |= {module: list(theirs) for module, theirs in family.head.items()}
    written: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        module, _, kind = name.rpartition(".")
        if module == "positions":
            tensor = torch.cat([tensor.new_zeros(family.first_position(raw), config.d_model), tensor])
        for source, part in zip(sources[module], tensor.chunk(len(sources[module])), strict=True):
            written[f"{source}.{kind}"] = part.contiguous()
    if family.added_to_positions:
        name = f"{family.prefix}{family.added_to_positions}.weight"
        written[name] = torch.zeros(raw["type_vocab_size"], config.d_model)
    return written


def _described(config: PretrainedConfig, model_type: str, family: Family) -> dict[str, Any] | None:
    """Describe the encoder with the settings that the family has. None if a setting has a value without a name."""
    raw: dict[str, Any] = {
        "model_type": model_type,
        "architectures": [family.classifier],
        "pad_token_id": _PAD_ID,
        **family.written,
    }
    named = named_values(family)
    for ours, (theirs, _) in family.settings.items():
        value = getattr(config, ours)
        if ours in named:
            value = next((name for name, meaning in named[ours].items() if meaning == value), None)
            if value is None:
                return None
        raw[theirs] = value
    if family.padding_before_positions:
        raw[family.settings["max_seq_len"][0]] += family.first_position(raw)
    if family.local_attention:
        raw |= _local(config)
    elif family.fixed.get("positions") == "rotary":
        raw["rope_parameters"] = _rope(config.rotary_base)
    return raw


def _local(config: PretrainedConfig) -> dict[str, Any]:
    kinds = ["sliding_attention" if n in config.local_blocks else "full_attention" for n in range(config.n_layers)]
    bases = {"full_attention": config.rotary_base, "sliding_attention": config.local_rotary_base}
    return {
        "layer_types": kinds,
        "local_attention": 2 * config.local_reach,
        "rope_parameters": {kind: _rope(base) for kind, base in bases.items()},
    }


def _rope(base: float) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": base}


def _without_dropout(config: PretrainedConfig) -> dict[str, Any]:
    """Return what decides the answers. Not every family can set each dropout."""
    return config.model_dump(exclude=set(_DROPOUTS))


def as_encoder(
    config: AnyModelConfig, weights: Mapping[str, Tensor], n_classes: int
) -> tuple[PretrainedConfig, dict[str, Tensor]]:
    """Return settings and weights of a `PretrainedEncoder` that computes the same logits. An encoder stays as it is.

    With the settings of our presets, the blocks are those of EuroBERT (Boizard et al. 2025): RMSNorm before attention
    and feed-forward, rotary positions, gated feed-forward, no biases. Only the head differs. Ours is one matrix; that
    of the encoder is a dense layer, GELU and a matrix.

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
