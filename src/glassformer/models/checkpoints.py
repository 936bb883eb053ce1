"""Checkpoints of other libraries: read their `config.json` and tensors as our config and weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from glassformer.errors import GlassformerError, UsageError
from glassformer.models.families import MODEL_TYPES, Family
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


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, as its `config.json` describes it."""

    raw: Mapping[str, Any]
    where: str

    @cached_property
    def family(self) -> Family:
        """The family that config.json names.

        Raises:
            UsageError: it names none of `MODEL_TYPES`.
        """
        found = self.raw.get("model_type")
        if not isinstance(found, str) or found not in MODEL_TYPES:
            if str(self.raw.get("format", "")).startswith("glassformer"):
                raise UsageError(
                    f"{self.where}: this is a model of glassformer; its transformer can be read after `glassformer "
                    "export` in the format transformers"
                )
            kind = f"of the type {found!r}" if found else "of an unnamed type (its config.json has no model_type)"
            raise UsageError(f"{self.where}: the model is {kind}; weights of {', '.join(MODEL_TYPES)} can be read")
        return MODEL_TYPES[found]

    @cached_property
    def config(self) -> PretrainedConfig:
        """The settings of the checkpoint.

        Raises:
            UsageError: the family is not supported, or a setting that changes what the model computes is not.
        """
        _ = self.family
        for key, readable in _ONLY.items():
            if (found := self.raw.get(key, readable)) not in (readable, None):
                what = "weights are quantised" if key == "quantization_config" else f"{key} = {found!r}"
                raise UsageError(f"{self.where}: {what}; such models cannot be read")
        try:
            return PretrainedConfig.model_validate(self._fields())
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            said = first["msg"].removeprefix("Value error, ")
            raise UsageError(f"{self.where}: config.json: {name}: {said}") from error
        except (TypeError, AttributeError) as error:
            raise UsageError(f"{self.where}: config.json is damaged ({error})") from error

    @property
    def classifies(self) -> bool:
        """Whether it is a text classifier, whose head has been trained."""
        kinds = self.raw.get("architectures")
        return isinstance(kinds, list) and any(str(kind).endswith("ForSequenceClassification") for kind in kinds)

    def _fields(self) -> dict[str, Any]:
        family, raw, where = self.family, self.raw, self.where
        fields, named = dict(family.fixed), named_values(family)
        for ours, (theirs, default) in family.settings.items():
            value = raw.get(theirs, default)
            if ours in named:
                if str(value) not in named[ours]:
                    raise UsageError(f"{where}: {theirs} = {value!r} is not known; there are {', '.join(named[ours])}")
                if value == "late" and self.classifies:  # a nonlinear layer between the tokens and their mean
                    raise UsageError(f"{where}: {theirs} = 'late'; such classifiers cannot be read")
                value = named[ours][value]
            fields[ours] = value
        if family.padding_before_positions:
            fields["max_seq_len"] -= family.first_position(raw)
        if not isinstance(fields["n_layers"], int) or fields["n_layers"] > MOST_BLOCKS:  # they are counted below
            theirs, found = family.settings["n_layers"][0], str(fields["n_layers"])[:20]
            raise UsageError(f"{where}: config.json: {theirs} is {found}; {MOST_BLOCKS:,} blocks are the most")
        if family.local_attention:
            fields |= self._local_fields(fields["n_layers"])
        elif fields.get("positions") == "rotary":
            fields["rotary_base"] = self._rotary_base(raw.get("rope_parameters"), "rope_theta", default=10_000.0)
        return fields

    def _local_fields(self, n_layers: int) -> dict[str, Any]:
        """Return which blocks are local, and the two rotary bases. The library has had two spellings; read both."""
        raw, where = self.raw, self.where
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
        local, whole = ropes.get("sliding_attention"), ropes.get("full_attention")
        return {
            "rotary_base": self._rotary_base(whole, "global_rope_theta", default=160_000.0),
            "local_rotary_base": self._rotary_base(local, "local_rope_theta", default=10_000.0),
            "local_blocks": tuple(n for n, kind in enumerate(kinds) if kind == "sliding_attention"),
            "local_reach": raw.get("local_attention", 128) // 2,
        }

    def _rotary_base(self, rope: Mapping[str, Any] | None, old: str, *, default: float) -> float:
        """Return the base that `rope` names, or else the one under the old key, or else the default."""
        rope = rope or {}
        if rope.get("rope_type", "default") != "default":
            raise UsageError(f"{self.where}: rope_type = {rope['rope_type']!r}; such models cannot be read")
        base = rope.get("rope_theta", self.raw.get(old))
        return default if base is None else base

    def weights(self, tensors: Mapping[str, Tensor], tokens: Sequence[int]) -> dict[str, Tensor]:
        """Return the weights of the checkpoint under our names, in torch's default precision.

        Args:
            tokens: for each of our token ids, the row of the checkpoint's embedding table.

        Returns:
            All weights of the encoder, and those of the head that the checkpoint has. The last matrix of the head is
            taken only from a text classifier.

        Raises:
            GlassformerError: a tensor is missing or of the wrong shape.
            UsageError: the weights are quantised.
        """
        family, config, where = self.family, self.config, self.where
        if config.n_layers > len(tensors):
            raise GlassformerError(
                f"{where}: {len(tensors)} tensors are too few for the {config.n_layers} layers that config.json "
                "describes; the files come from different models"
            )
        by_name = {family.plain_name(name): tensor for name, tensor in tensors.items()}
        with shapes_only():
            expected = PretrainedEncoder(config, len(tokens), n_classes=1).state_dict()
        sources = family.sources(config.n_layers)
        weights = {}
        for name, like in expected.items():
            if name.startswith("head."):
                continue
            module, _, kind = name.rpartition(".")
            joined = torch.cat([self._tensor(by_name, f"{source}.{kind}") for source in sources[module]])
            if module == "embedding":
                if len(joined) <= max(tokens):
                    raise GlassformerError(
                        f"{where}: {sources[module][0]} has {len(joined):,} rows, and the tokenizer numbers its tokens "
                        f"up to {max(tokens)}; the files come from different models"
                    )
                joined = joined[torch.tensor(tokens)]
            if module == "positions":
                joined = joined[family.first_position(self.raw) :]
                if family.added_to_positions:
                    joined = joined + self._tensor(by_name, f"{family.added_to_positions}.weight")[0]
            if joined.shape != like.shape:
                raise GlassformerError(
                    f"{where}: {' + '.join(sources[module])} is {tuple(joined.shape)} where config.json implies "
                    f"{tuple(like.shape)}; the files come from different models"
                )
            weights[name] = joined
        return weights | self._head(by_name, expected)

    def _head(self, by_name: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for module, (source,) in self.family.head.items():
            names = [name for name in expected if name.rpartition(".")[0] == module]
            last = module == "head.out_projection"
            theirs = {name: self.family.plain_name(f"{source}.{name.rpartition('.')[2]}") for name in names}
            if (last and not self.classifies) or any(their_name not in by_name for their_name in theirs.values()):
                continue
            read = {name: self._tensor(by_name, their_name) for name, their_name in theirs.items()}
            if all(read[name].shape[last:] == expected[name].shape[last:] for name in names):
                found |= read
        return found

    def _tensor(self, by_name: Mapping[str, Tensor], name: str) -> Tensor:
        if name not in by_name:
            raise GlassformerError(f"{self.where}: the tensor {name} is missing; the checkpoint is incomplete")
        tensor = by_name[name]
        if tensor.dtype not in _DTYPES:
            raise UsageError(
                f"{self.where}: weights are quantised ({name} is of {tensor.dtype}); such models cannot be read"
            )
        tensor = tensor.to(torch.get_default_dtype())
        if not tensor.isfinite().all():
            raise GlassformerError(f"{self.where}: {name} holds NaN or infinite weights; the checkpoint is damaged")
        return tensor


def named_values(family: Family) -> dict[str, Mapping[str, str]]:
    """Return the settings whose values are names, each with the table of their name → ours."""
    return {"activation": _ACTIVATIONS, "head_activation": _ACTIVATIONS, "pooling": family.poolings}
