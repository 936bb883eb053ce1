"""The weights that training starts from: our own model folder, or a checkpoint of a known family (`hf:…`)."""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from glassformer.data.files import as_path
from glassformer.data.inputs import Inputs
from glassformer.data.installed import pip_install
from glassformer.data.json_files import read_settings
from glassformer.data.labels import LabelSet
from glassformer.data.pretrained_tokenizers import TOKENIZER_FILES, read_pretrained_tokenizer
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, UsageError
from glassformer.layers.positions import LearnedPositions
from glassformer.models.build import AnyModelConfig, build_model
from glassformer.models.checkpoints import Checkpoint
from glassformer.models.memory import shapes_only
from glassformer.models.model_config import HUB, LanguageModelConfig, ModelConfig, SeveralTextsConfig, TrunkConfig
from glassformer.models.parts import embedding_table, names_of, parts_of
from glassformer.prediction.folder_config import LanguageFolderConfig, NewWord
from glassformer.prediction.folder_format import check_weights, format_of
from glassformer.prediction.model_folder import (
    CLASSIFIER,
    KINDS,
    LANGUAGE_MODEL,
    TrainedLanguageModel,
    TrainedModel,
    load_model,
)
from glassformer.prediction.reader_files import READERS_FOLDER
from glassformer.readers.rules.reader import RULES_FILE

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_DOWNLOADED = ["config.json", *TOKENIZER_FILES, _WEIGHTS, _INDEX, "model-*-of-*.safetensors"]
_ON_THE_HUB = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)
"""A name that the hub may have. Any other is a path, which no network needs to be asked for."""
_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")


@dataclass(frozen=True, kw_only=True)
class InitialWeights:
    """A model to start from.

    Attributes:
        weights: the tensors, by the names in the model that `model` describes. The head may be complete, partial or
            missing.
        labels: the labels of the rows of the last matrix, or None if they are not known.
        free: the settings of `model` that the weights do not fix.
        new_words: the words that were learned from definitions. They are kept.
        inputs: those of the rows that the weights were trained on, if a row has several. `model` is then the shape of
            a model that reads one text (see `recipe_for_inputs`).
    """

    name: str
    model: AnyModelConfig
    tokenizer_config: TokenizerConfig
    tokenizer: TextTokenizer
    weights: Mapping[str, Tensor]
    labels: tuple[str, ...] | None
    multilabel: bool
    free: frozenset[str] = frozenset()
    new_words: tuple[NewWord, ...] = ()
    inputs: Inputs | None = None

    @classmethod
    def of(cls, trained: TrainedModel | TrainedLanguageModel, name: str = "a model in memory") -> InitialWeights:
        """Take the weights of a classifier, or of the trunk of a language model for a classifier of the same shape.

        Raises:
            UsageError: the language model has no trunk that a classifier could start from.
        """
        config = trained.config
        around: Any = {
            "name": name,
            "tokenizer_config": config.tokenizer,
            "tokenizer": trained.tokenizer,
            "weights": trained.model.state_dict(),
            "new_words": config.new_words,
        }
        if isinstance(config, LanguageFolderConfig):
            trunk, free = _trunk(config, name), frozenset({"pooling"})
            return cls(model=trunk, labels=None, multilabel=False, free=free, **around)
        target = config.target
        around |= {"labels": target.names, "multilabel": target.multilabel, "inputs": config.inputs}
        shape = config.model
        if isinstance(shape, SeveralTextsConfig):
            shape = shape.of_one_text
        return cls(model=shape, **around)

    def reading(self, inputs: Inputs | None) -> InitialWeights:
        """Return these weights for rows of several inputs: what is no text in them is a new token."""
        if inputs is None or self.inputs is not None:
            return self
        return replace(self, tokenizer=self.tokenizer.with_marks(inputs.tokens))

    @cached_property
    def record(self) -> dict[str, str]:
        """Return what the model folder keeps: the name and the fingerprint of the weights."""
        return {"from": self.name, "fingerprint": weights_fingerprint(self.weights)}


def weights_fingerprint(weights: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 (hex) over the weights in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        tensor = weights[name]
        digest.update(name.encode())
        digest.update((tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy().tobytes())
    return digest.hexdigest()


def read_initial_weights(name: str) -> InitialWeights:
    """Read the model folder `name`. `hf:…` names a checkpoint: a folder, or a repository on the hub.

    Raises:
        UsageError: there is no such model, or its kind cannot be read.
        GlassformerError: the files are damaged, or cannot be downloaded.
    """
    name = str(as_path(name)) if not isinstance(name, str) else name
    if name.startswith(HUB):
        where = f"`init={name!r}`"
        return read_checkpoint(checkpoint_folder(name, where), name, where)
    folder = Path(name)
    check_weights(name)
    if KINDS.get(format_of(folder) or "") is LANGUAGE_MODEL:
        return InitialWeights.of(load_model(folder, LANGUAGE_MODEL), name)
    trained = load_model(folder, CLASSIFIER)
    found = InitialWeights.of(trained, name)
    return replace(found, model=found.model.model_copy(update=kept_rules(folder, trained)))


def kept_rules(folder: Path, trained: TrainedModel) -> dict[str, str]:
    """Return the setting that names the rules in a model folder: the file that they came from may have changed."""
    return {"rules": str(folder / READERS_FOLDER / "rules" / RULES_FILE)} if "rules" in trained.readers else {}


def _trunk(config: LanguageFolderConfig, name: str) -> ModelConfig:
    """Return the settings of a classifier with the shape of a language model."""
    if not isinstance(config.model, LanguageModelConfig):
        raise UsageError(f"`init={name!r}`: {config.model.in_words()} has no trunk that a classifier could start from")
    shape = config.model.model_dump(include=set(TrunkConfig.model_fields) - {"dropout", "attention_dropout"})
    return ModelConfig.model_validate(shape | {"counting": "auto", "body": "auto"})


def start_from(model: nn.Module, config: AnyModelConfig, initial: InitialWeights, labels: LabelSet) -> str:
    """Copy the weights into `model`, which has the shape of `initial.model` or a shorter window.

    The last matrix has a row per label. Its rows are copied if our labels are the same, or the same and others. Tokens
    that the weights do not know (see `InitialWeights.reading`) and the vectors of the texts of a row start anew.

    Returns:
        A phrase that says what was copied.

    Raises:
        GlassformerError: the weights do not fit the model.
    """
    own = model.state_dict()
    last = _sized_by_labels(config, initial.tokenizer.vocab_size)
    rows = _rows_of_labels(initial, labels)
    tables_of_positions = {f"{n}.weight" for n, module in model.named_modules() if isinstance(module, LearnedPositions)}
    of_texts = {f"{n}.{part}" for n, module in model.named_modules() for part in getattr(module, "of_texts", ())}
    words, taken = embedding_table(model), dict[str, Tensor]()
    for name, parameter in model.state_dict(keep_vars=True).items():
        tensor = initial.weights.get(name)
        if name in last:
            tensor = None if tensor is None or rows is None else _with_rows(own[name], tensor, rows)
        if tensor is None:
            continue
        if name in tables_of_positions:
            tensor = tensor[: config.max_seq_len]
        if parameter is words and tensor.shape[1:] == words.shape[1:]:
            tensor = torch.cat([tensor.to(own[name]), own[name][len(tensor) :]])
        if tensor.shape == own[name].shape:
            taken[name] = tensor
    new = tuple(f"{part}." for part in names_of(model, (*parts_of(model).pooling, *parts_of(model).head)))
    known = taken.keys() | last | (of_texts if initial.inputs is None else set())
    if absent := [name for name in own if name not in known and not name.startswith(new)]:
        raise GlassformerError(
            f"`init={initial.name!r}`: {absent[0]} does not fit the model that its settings describe"
        )
    model.load_state_dict(own | taken)
    if rows is None or not last <= taken.keys():
        return f"weights: {initial.name}, with a new head for these labels"
    grown = rows.count(None)
    return f"weights: {initial.name}, the head too" + (f", grown by {counted(grown, 'label')}" if grown else "")


def _with_rows(own: Tensor, tensor: Tensor, rows: list[int | None]) -> Tensor | None:
    """Return their row for each of our labels, and our own row for a new label.

    None for thresholds between labels that are others, or in another order.
    """
    if rows == list(range(len(rows))):
        return tensor
    if len(own) != len(rows) or len(tensor) != len(rows) - rows.count(None):
        return None
    return torch.stack([own[place] if row is None else tensor[row].to(own) for place, row in enumerate(rows)])


def _sized_by_labels(config: AnyModelConfig, vocab_size: int) -> set[str]:
    """Return the names of the weights whose shape depends on the number of classes."""
    with shapes_only():
        two, three = (build_model(config, vocab_size, n_classes).state_dict() for n_classes in (2, 3))
    return {name for name in two if two[name].shape != three[name].shape}


def _rows_of_labels(initial: InitialWeights, labels: LabelSet) -> list[int | None] | None:
    """Return the row of the last matrix for each of our labels, and None for a label that is new.

    None in place of the list: one of their labels is not among ours, in any case. A checkpoint without label names has
    placeholders, LABEL_0, LABEL_1 …. They match as many labels, in order.
    """
    theirs, ours = initial.labels, labels.names
    if theirs is None or initial.multilabel != labels.multilabel:
        return None
    if theirs == tuple(f"LABEL_{number}" for number in range(len(ours))):
        return list(range(len(ours)))
    for spelled in (str, str.casefold):
        places = {spelled(label): row for row, label in enumerate(theirs)}
        named = {spelled(label) for label in ours}
        if places.keys() <= named and len(places) == len(theirs) and len(named) == len(ours):
            return [places.get(spelled(label)) for label in ours]
    return None


def checkpoint_folder(name: str, where: str, more: Sequence[str] = ()) -> Path:
    """Return the folder with the files of `hf:…`. A name that is not a path on this machine is downloaded.

    Args:
        more: patterns of further files to download.

    Raises:
        UsageError: there is no such folder, or downloading needs a package that is not installed.
        GlassformerError: the files cannot be downloaded.
    """
    place = name.removeprefix(HUB)
    if not place:
        raise UsageError(f"{where}: name a checkpoint, {HUB}path/to/folder or {HUB}owner/name")
    if Path(place).is_dir():
        return Path(place)
    if not _ON_THE_HUB.fullmatch(place):
        raise UsageError(f"{where}: no such folder")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise UsageError(
            f"{where}: no such folder here, and downloading needs an extra: {pip_install('hf')}"
        ) from error
    try:
        return Path(snapshot_download(place, allow_patterns=[*_DOWNLOADED, *more]))
    except Exception as error:  # of the library, of its HTTP client, of the operating system: all mean the same here
        if _is_of_the_network(error):
            raise GlassformerError(
                f"{where}: there is no such folder, and the hub cannot be reached; correct the name, or check the "
                "network"
            ) from error
        cause = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise GlassformerError(f"{where}: neither a folder here nor to be downloaded ({cause})") from error


def _is_of_the_network(error: BaseException | None) -> bool:
    """Whether the connection failed. The library reports that in many ways, and its HTTP client has changed."""
    names = {"NetworkError", "TimeoutException", "ProxyError", "OfflineModeIsEnabled"}
    while error is not None:
        if isinstance(error, (ConnectionError, TimeoutError, socket.gaierror)):
            return True
        if names & {kind.__name__ for kind in type(error).__mro__}:
            return True
        error = error.__cause__ or error.__context__
    return False


def read_checkpoint(folder: Path, name: str, where: str) -> InitialWeights:
    """Read a checkpoint of another library.

    Raises:
        UsageError: the folder holds no checkpoint, or its kind cannot be read.
        GlassformerError: the files are damaged.
    """
    if not (folder / "config.json").is_file():
        raise UsageError(f"{where}: {folder} holds no config.json, so it is not a checkpoint")
    raw = read_settings(folder / "config.json", where=where)
    checkpoint = Checkpoint(raw, where)
    config, tensors = checkpoint.config, read_tensors(folder, where)
    tokenizer, order = read_pretrained_tokenizer(folder, checkpoint.family.special_tokens, where)
    weights = checkpoint.weights(tensors, order)
    last = weights.get("head.out_projection.weight")
    return InitialWeights(
        name=name,
        model=config,
        tokenizer_config=TokenizerConfig(kind="pretrained"),
        tokenizer=tokenizer,
        weights=weights,
        labels=None if last is None else _labels(raw, len(last), where),
        multilabel=raw.get("problem_type") == "multi_label_classification",
    )


def _labels(raw: Mapping[str, Any], count: int, where: str) -> tuple[str, ...]:
    named = raw.get("id2label") or {}
    if not isinstance(named, dict):
        raise UsageError(f"{where}: config.json: id2label must name labels by their numbers, got {named!r}")
    return tuple(str(named.get(str(number), f"LABEL_{number}")) for number in range(count))


def read_tensors(folder: Path, where: str) -> dict[str, Tensor]:
    """Read all tensors of `model.safetensors`, or of the files that its index names.

    Raises:
        UsageError: there is no such file, or there is a pickle in its place.
        GlassformerError: a file is damaged.
    """
    if (folder / _WEIGHTS).is_file():
        files = [_WEIGHTS]
    elif (folder / _INDEX).is_file():
        named = read_settings(folder / _INDEX, where=where).get("weight_map")
        files = list(named.values()) if isinstance(named, dict) else []
        if not files or not all(isinstance(file, str) and PurePosixPath(file).name == file for file in files):
            raise GlassformerError(f"{where}: {_INDEX} does not name files beside it; it is damaged")
    elif any((folder / file).is_file() for file in _PICKLES):
        raise UsageError(
            f"{where}: its weights are a pickle (pytorch_model.bin), which may run code when it is read; only "
            "safetensors are read, so convert them first"
        )
    else:
        raise UsageError(f"{where}: there is no {_WEIGHTS} in {folder}")
    tensors: dict[str, Tensor] = {}
    for file in sorted(set(files)):
        if (folder / file).exists() and not (folder / file).is_file():  # a pipe or device may never end
            raise GlassformerError(f"{where}: {file} is not a file; copy it again")
        try:
            tensors |= load_file(folder / file)
        except (SafetensorError, OSError) as error:
            raise GlassformerError(f"{where}: {file} is missing, cut short or damaged ({error})") from error
    return tensors
