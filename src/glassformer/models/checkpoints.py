"""Checkpoints of other libraries: read their `config.json` and tensors as our config and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from glassformer.errors import GlassformerError, UsageError
from glassformer.models.families import FAMILIES, Family
from glassformer.models.memory import shapes_only
from glassformer.models.model_config import MOST_BLOCKS
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder

_ACTIVATIONS = {
    "gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu-tanh", "gelu_fast": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh", "relu": "relu", "silu": "silu", "swish": "silu", "tanh": "tanh",
    "sigmoid": "sigmoid",
}  # fmt: skip
# Settings that change what a model computes, and whose other values our layers lack: key → the only value that is read.
_ONLY = {
    "position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False, "rope_scaling": None,
    "quantization_config": None,
}  # fmt: skip
_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def read_family(raw: Mapping[str, Any], where: str) -> Family:
    """Return the family that a config.json names.

    Raises:
        UsageError: it names no family of `FAMILIES`.
    """
    found = raw.get("model_type")
    if not isinstance(found, str) or found not in FAMILIES:
        kind = f"of the type {found!r}" if found else "of an unnamed type (its config.json has no model_type)"
        raise UsageError(f"{where}: the model is {kind}; weights of {', '.join(FAMILIES)} can be read")
    return FAMILIES[found]


def read_config(raw: Mapping[str, Any], where: str) -> PretrainedConfig:
    """Return the settings of a checkpoint as our config.

    Raises:
        UsageError: the family is not supported, or a setting that changes what the model computes is not.
    """
    family = read_family(raw, where)
    for key, readable in _ONLY.items():
        if (found := raw.get(key, readable)) not in (readable, None):
            what = "weights are quantised" if key == "quantization_config" else f"{key} = {found!r}"
            raise UsageError(f"{where}: {what}; such models cannot be read")
    try:
        return PretrainedConfig.model_validate(_fields(family, raw, where))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise UsageError(f"{where}: config.json: {name}: {first['msg'].removeprefix('Value error, ')}") from error
    except (TypeError, AttributeError) as error:
        raise UsageError(f"{where}: config.json is damaged ({error})") from error


def named_values(family: Family) -> dict[str, Mapping[str, str]]:
    """Return the settings whose values are names, each with the table of their name → ours."""
    return {"activation": _ACTIVATIONS, "head_activation": _ACTIVATIONS, "pooling": family.poolings}


def _fields(family: Family, raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    fields, named = dict(family.fixed), named_values(family)
    for ours, (theirs, default) in family.settings.items():
        value = raw.get(theirs, default)
        if ours in named:
            if str(value) not in named[ours]:
                raise UsageError(f"{where}: {theirs} = {value!r} is not known; there are {', '.join(named[ours])}")
            if value == "late" and _classifies(raw):  # a nonlinear layer between the tokens and their mean
                raise UsageError(f"{where}: {theirs} = 'late'; such classifiers cannot be read")
            value = named[ours][value]
        fields[ours] = value
    if family.padding_before_positions:
        fields["max_seq_len"] -= first_position(family, raw)
    if not isinstance(fields["n_layers"], int) or fields["n_layers"] > MOST_BLOCKS:  # they are counted below
        theirs, found = family.settings["n_layers"][0], str(fields["n_layers"])[:20]
        raise UsageError(f"{where}: config.json: {theirs} is {found}; {MOST_BLOCKS:,} blocks are the most")
    if family.local_attention:
        fields |= _local_fields(raw, fields["n_layers"], where)
    elif fields.get("positions") == "rotary":
        rope = raw.get("rope_parameters") or {}
        fields["rotary_base"] = _rotary_base(rope, raw.get("rope_theta"), where, default=10_000.0)
    return fields


def _local_fields(raw: Mapping[str, Any], n_layers: int, where: str) -> dict[str, Any]:
    """Return which blocks are local, and the two rotary bases. The library has had two spellings; read both."""
    kinds = raw.get("layer_types")
    if not kinds:
        every = raw.get("global_attn_every_n_layers", 3)
        if every < 1:
            raise UsageError(f"{where}: config.json: global_attn_every_n_layers is {every}; it must be 1 or more")
        kinds = ["sliding_attention" if n % every else "full_attention" for n in range(n_layers)]
    if len(kinds) != n_layers or not {*kinds} <= {"full_attention", "sliding_attention"}:
        raise UsageError(
            f"{where}: config.json: layer_types must name full_attention or sliding_attention for each of the "
            f"{n_layers} layers, got {kinds!r}"
        )
    ropes = raw.get("rope_parameters") or {}
    bases = {}
    for kind, key, default in (
        ("full_attention", "global_rope_theta", 160_000.0), ("sliding_attention", "local_rope_theta", 10_000.0)
    ):  # fmt: skip
        bases[kind] = _rotary_base(ropes.get(kind) or {}, raw.get(key), where, default=default)
    return {
        "rotary_base": bases["full_attention"],
        "local_rotary_base": bases["sliding_attention"],
        "local_blocks": tuple(n for n, kind in enumerate(kinds) if kind == "sliding_attention"),
        "local_reach": raw.get("local_attention", 128) // 2,
    }


def _rotary_base(rope: Mapping[str, Any], old: float | None, where: str, *, default: float) -> float:
    """Return the base that `rope` names, or else the old spelling, or else the default."""
    if rope.get("rope_type", "default") != "default":
        raise UsageError(f"{where}: rope_type = {rope['rope_type']!r}; such models cannot be read")
    base = rope.get("rope_theta", old)
    return default if base is None else base


def first_position(family: Family, raw: Mapping[str, Any]) -> int:
    """Return the row of the position table that belongs to the first token of a text."""
    return raw.get("pad_token_id", 1) + 1 if family.padding_before_positions else 0


def read_checkpoint_weights(
    raw: Mapping[str, Any],
    family: Family,
    config: PretrainedConfig,
    tensors: Mapping[str, Tensor],
    tokens: Sequence[int],
    where: str,
) -> dict[str, Tensor]:
    """Return the weights of a checkpoint under our names, in torch's default precision.

    Args:
        family, config: the results of `read_family` and `read_config` for `raw`.
        tokens: for each of our token ids, the row of the checkpoint's embedding table.

    Returns:
        All weights of the encoder, and those of the head that the checkpoint has. The last matrix of the head is taken
        only from a text classifier.

    Raises:
        GlassformerError: a tensor is missing or of the wrong shape.
        UsageError: the weights are quantised.
    """
    if config.n_layers > len(tensors):
        raise GlassformerError(
            f"{where}: {len(tensors)} tensors are too few for the {config.n_layers} layers that config.json describes; "
            "the files come from different models"
        )
    by_name = {_plain_name(name, family): tensor for name, tensor in tensors.items()}
    with shapes_only():
        expected = PretrainedEncoder(config, len(tokens), n_classes=1).state_dict()
    sources = sources_of(family, config.n_layers)
    weights = {}
    for name, like in expected.items():
        if name.startswith("head."):
            continue
        module, _, kind = name.rpartition(".")
        parts = [_tensor(by_name, f"{source}.{kind}", where) for source in sources[module]]
        joined = torch.cat(parts)
        if module == "embedding":
            if len(joined) <= max(tokens):
                raise GlassformerError(
                    f"{where}: {sources[module][0]} has {len(joined):,} rows, and the tokenizer numbers its tokens up "
                    f"to {max(tokens)}; the files come from different models"
                )
            joined = joined[torch.tensor(tokens)]
        if module == "positions":
            joined = joined[first_position(family, raw) :]
            if family.added_to_positions:
                joined = joined + _tensor(by_name, f"{family.added_to_positions}.weight", where)[0]
        if joined.shape != like.shape:
            raise GlassformerError(
                f"{where}: {' + '.join(sources[module])} is {tuple(joined.shape)} where config.json implies "
                f"{tuple(like.shape)}; the files come from different models"
            )
        weights[name] = joined
    return weights | _head(family, raw, by_name, expected, where)


def _head(
    family: Family,
    raw: Mapping[str, Any],
    by_name: Mapping[str, Tensor],
    expected: Mapping[str, Tensor],
    where: str,
) -> dict[str, Tensor]:
    """Return the weights of the head that the checkpoint has."""
    classifies = _classifies(raw)
    found: dict[str, Tensor] = {}
    for module, (source,) in family.head.items():
        names = [name for name in expected if name.rpartition(".")[0] == module]
        last = module == "head.out_projection"
        theirs = {name: _plain_name(f"{source}.{name.rpartition('.')[2]}", family) for name in names}
        if (last and not classifies) or any(their_name not in by_name for their_name in theirs.values()):
            continue
        read = {name: _tensor(by_name, their_name, where) for name, their_name in theirs.items()}
        if all(read[name].shape[last:] == expected[name].shape[last:] for name in names):
            found |= read
    return found


def _classifies(raw: Mapping[str, Any]) -> bool:
    """Whether the checkpoint is a text classifier, whose head has been trained."""
    return any(str(kind).endswith("ForSequenceClassification") for kind in raw.get("architectures") or ())


def sources_of(family: Family, n_layers: int) -> dict[str, tuple[str, ...]]:
    """Return for each module of our encoder, without the head, their modules, without the prefix."""
    blocks = {
        f"blocks.{n}.{ours}": tuple(source.format(n=n) for source in theirs)
        for n in range(n_layers)
        for ours, theirs in family.block.items()
    }
    return {**family.parts, **blocks}


def _plain_name(name: str, family: Family) -> str:
    """Remove the encoder's prefix and use today's names: old checkpoints call a norm's weights gamma and beta."""
    name = name.removeprefix(family.prefix)
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _tensor(by_name: Mapping[str, Tensor], name: str, where: str) -> Tensor:
    if name not in by_name:
        raise GlassformerError(f"{where}: the tensor {name} is missing; the checkpoint is incomplete")
    tensor = by_name[name]
    if tensor.dtype not in _DTYPES:
        raise UsageError(f"{where}: weights are quantised ({name} is of {tensor.dtype}); such models cannot be read")
    tensor = tensor.to(torch.get_default_dtype())
    if not tensor.isfinite().all():
        raise GlassformerError(f"{where}: {name} holds NaN or infinite weights; the checkpoint is damaged")
    return tensor
