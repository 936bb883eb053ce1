"""What a folder of sentence-transformers says of its encoder: `modules.json`, and the files that it names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from glassformer.data.json_files import read_json, read_settings
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.model_config import WIDEST
from glassformer.models.text_encoder import POOLINGS, ActivationName, DenseConfig

MODULES_FILE, _PROMPTS_FILE = "modules.json", "config_sentence_transformers.json"
_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
_SETTINGS_FILES = tuple(
    f"sentence_{family}_config.json" for family in _FAMILIES
)  # today, the first whatever the family
_VECTOR = "sentence_embedding"
_OLD_KEYS = {
    "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DescribedEncoder:
    """An encoder as its folder describes it.

    Attributes:
        transformer: the folder of the weights and the tokenizer.
        dense: the folder of each dense layer, with its settings.
        window: the most tokens that it reads at once. None: as many as the weights can.
        poolings, unit, prompt, lowercase: see `TextEncoderConfig`.
    """

    transformer: Path
    poolings: tuple[str, ...] = ("mean",)
    dense: tuple[tuple[Path, DenseConfig], ...] = ()
    unit: bool = False
    window: int | None = None
    prompt: str = ""
    lowercase: bool = False


def read_described(folder: Path, where: str) -> DescribedEncoder:
    """Read what the folder says. One without `modules.json` is a transformer whose tokens are averaged.

    Raises:
        UsageError: a part or a setting is not supported.
        GlassformerError: a file is damaged.
    """
    if not (folder / MODULES_FILE).is_file():
        return _transformer(folder, where)
    (first, transformer), *others = _modules(folder, where)
    if first != "Transformer":
        raise UsageError(f"{where}: the first part is {first}; encoders that begin with a transformer can be read")
    found: dict[str, Any] = {"poolings": None, "dense": (), "unit": False, "prompt": _prompt(folder, where)}
    for kind, place in others:
        file = place / "config.json"
        if kind != "Normalize" and not file.is_file():
            raise GlassformerError(f"{where}: {place.name}/{file.name} is missing, which says how texts are read")
        settings = read_settings(file, where=where) if file.is_file() else {}
        pooled = found["poolings"] is not None
        if kind == "Pooling" and not pooled:
            found["poolings"] = _poolings(settings, where, prompt=found["prompt"])
        elif kind == "Dense" and pooled and not found["unit"]:
            found["dense"] = (*found["dense"], (place, _dense(settings, where)))
        elif kind == "Normalize" and pooled and _of_vectors(settings):
            found["unit"] = True
        else:
            raise UsageError(
                f"{where}: {kind} in {place.name or MODULES_FILE} cannot be read; after the transformer, one Pooling, "
                "then Dense and Normalize can"
            )
    if found["poolings"] is None:
        raise UsageError(f"{where}: {MODULES_FILE} names no Pooling, so texts have no vectors")
    read = _transformer(transformer, where)
    return DescribedEncoder(transformer=transformer, window=read.window, lowercase=read.lowercase, **found)


def _modules(folder: Path, where: str) -> list[tuple[str, Path]]:
    """Return the kind and the folder of each part."""
    raw = read_json(folder / MODULES_FILE, where=where)
    if not isinstance(raw, list) or not raw or not all(isinstance(each, dict) for each in raw):
        raise GlassformerError(f"{where}: {MODULES_FILE} does not list parts; the file is damaged")
    found = []
    for each in raw:
        kind, place = str(each.get("type")), str(each.get("path", ""))
        if not kind.startswith("sentence_transformers."):
            raise UsageError(f"{where}: {MODULES_FILE} names {kind!r}, which is code of its own; none is run")
        if place and (PurePosixPath(place).name != place or place == ".."):
            raise GlassformerError(
                f"{where}: {MODULES_FILE} names {place!r}, which is not a folder in it; it is damaged"
            )
        found.append((kind.rpartition(".")[2], folder / place))
    return found


def _transformer(folder: Path, where: str) -> DescribedEncoder:
    """Read what the folder of a transformer says about how it reads texts."""
    own = next((name for name in _SETTINGS_FILES if (folder / name).is_file()), _SETTINGS_FILES[0])
    settings, tokens = (
        read_settings(folder / name, where=where) if (folder / name).is_file() else {}
        for name in (own, "tokenizer_config.json")
    )
    if (task := settings.get("transformer_task", "feature-extraction")) != "feature-extraction":
        raise UsageError(f"{where}: {own}: transformer_task = {task!r}; such encoders cannot be read")
    window = settings.get("max_seq_length") or tokens.get("model_max_length")
    if window is not None and (not isinstance(window, int | float) or window < 2):
        raise UsageError(f"{where}: its window is {window!r}; it must be a number of tokens above 1")
    return DescribedEncoder(
        transformer=folder,
        window=None if window is None else int(window),
        lowercase=bool(settings.get("do_lower_case", False)),
    )


def _prompt(folder: Path, where: str) -> str:
    """Return what is put before each text by default."""
    if not (folder / _PROMPTS_FILE).is_file():
        return ""
    settings = read_settings(folder / _PROMPTS_FILE, where=where)
    prompts, name = settings.get("prompts") or {}, settings.get("default_prompt_name")
    known = isinstance(prompts, Mapping) and isinstance(name, str) and isinstance(prompts.get(name), str)
    if name is not None and not known:
        raise UsageError(f"{where}: {_PROMPTS_FILE}: default_prompt_name is {name!r}, and there is no such prompt")
    return "" if name is None else str(prompts[name])


def _poolings(settings: Mapping[str, Any], where: str, *, prompt: str) -> tuple[str, ...]:
    named = settings.get("pooling_mode") or [mode for key, mode in _OLD_KEYS.items() if settings.get(key)] or ["mean"]
    modes = tuple(map(str, named)) if isinstance(named, list) else (str(named),)
    if odd := [mode for mode in modes if mode not in POOLINGS]:
        raise UsageError(f"{where}: the pooling {odd[0]!r} cannot be read; {', '.join(POOLINGS)} can")
    if prompt and not settings.get("include_prompt", True):
        raise UsageError(
            f"{where}: its pooling leaves out the prompt {json.dumps(prompt)}; such encoders cannot be read"
        )
    return modes


def _dense(settings: Mapping[str, Any], where: str) -> DenseConfig:
    package, _, activation = str(settings.get("activation_function", "torch.nn.Tanh")).rpartition(".")
    known, width = get_args(ActivationName), settings.get("out_features")
    if (
        activation not in known
        or not package.startswith("torch.nn")
        or settings.get("use_residual")
        or not _of_vectors(settings)
    ):
        raise UsageError(
            f"{where}: a dense layer with the settings {json.dumps(dict(settings))} cannot be read; one of the vector "
            f"of a text, without a residual path, and with the activation {', '.join(known)} can"
        )
    if not isinstance(width, int) or not 1 <= width <= WIDEST:
        said = "names no out_features" if width is None else f"has {width!r} out_features"
        raise GlassformerError(f"{where}: a dense layer {said}; its config.json is damaged")
    return DenseConfig(width=width, bias=bool(settings.get("bias", True)), activation=activation)  # type: ignore[arg-type]


def _of_vectors(settings: Mapping[str, Any]) -> bool:
    """Whether a part reads the vector of a text and returns one, rather than those of tokens."""
    return all(settings.get(f"module_{side}_name") in (None, _VECTOR) for side in ("input", "output"))
