"""The model folder: training writes it and all other commands read it. It holds JSON and safetensors, no code.

config.json         format, model settings, tokenizer settings, data, recipe, versions, and what the kind of model adds
tokenizer.json      the vocabulary, in the format of the `tokenizers` library
model.safetensors   the weights
counting.json       the n-grams of the counting reader, if there is one
counting.safetensors  their weights
readers/            a folder for each reader of another package
seen.safetensors    the words and word pairs of the training texts, as hashes
training-texts.*    the training texts and their vectors, if they were to be kept
metrics.json        the training history and the figures of validation
report.html         these figures as a page, if rows were held out
README.md           the model card
SHA256SUMS          the checksums of these files

`KINDS` lists the kinds of models. `load_model(folder, CLASSIFIER)` reads a model of one kind, `save_model` writes any.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from safetensors import SafetensorError
from torch import nn

from glassformer.data.checksums import SUMS_FILE, check_sums, read_at_once, write_sums
from glassformer.data.files import why_not_written
from glassformer.data.json_files import as_record, read_json
from glassformer.data.model_marks import RECORD_FILE
from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import build_language_model, build_model
from glassformer.models.families import MODEL_TYPES
from glassformer.models.language_model import TokenPredictor
from glassformer.models.reward import RewardModel
from glassformer.prediction.exported import is_exported, read_tokenizer
from glassformer.prediction.folder_config import (
    AnyFolderConfig,
    FolderConfig,
    LanguageFolderConfig,
    Remembered,
    RememberedRecords,
    RewardFolderConfig,
)
from glassformer.prediction.folder_format import (
    FORMAT_VERSION,
    OLDEST_VERSION,
    check_files,
    check_is_folder,
    is_model_folder,
)
from glassformer.prediction.folder_names import (
    AUDIT_FILE,
    AUDIT_PAGE,
    EVALUATION_FOLDER,
    FIGURES_FILE,
    KEPT_FILES,
    NOT_LOADED,
    REPORT_FILE,
    SNAPSHOTS_FOLDER,
    TEXTS_FILE,
    any_other_rows,
)
from glassformer.prediction.kept_texts import KeptTexts
from glassformer.prediction.reader_files import COUNTING_FILES, READERS_FOLDER, read_readers, save_readers
from glassformer.prediction.replacing import place_aside, put_back_alone, put_in_place, remove_aside, written
from glassformer.prediction.weights_file import Described, check_weights, not_finite, read_weights, write_weights
from glassformer.readers.counting.reader import WithReaders
from glassformer.readers.counting.unlike import SEEN_FILE, Seen
from glassformer.readers.reader import Reader

_OF_EARLIER = (
    REPORT_FILE, AUDIT_PAGE, AUDIT_FILE, SNAPSHOTS_FOLDER,
    *(f"{EVALUATION_FOLDER}/{name}" for file in (REPORT_FILE, FIGURES_FILE) for name in (file, any_other_rows(file))),
)  # fmt: skip
"""What a folder may hold about its model, as patterns. Some of it shows texts. It goes first: a kill leaves none beside
another model."""
_OF_MODEL = "config.json", SUMS_FILE, *COUNTING_FILES, SEEN_FILE, *KEPT_FILES, READERS_FOLDER
"""What a folder may hold of its model, besides the files that each one has. config.json goes first."""
Config = TypeVar("Config", bound=AnyFolderConfig)
Module = TypeVar("Module", bound=nn.Module)


@dataclass(frozen=True, kw_only=True)
class Trained(WithReaders, Generic[Config, Module]):
    """A trained model with its config, tokenizer and metrics.

    Attributes:
        readers: those beside the transformer, by name.
        kept: returns the training texts, which are read from the folder when it is called. None if they were not kept.
    """

    config: Config
    model: Module
    tokenizer: TextTokenizer
    metrics: dict[str, Any]
    readers: Mapping[str, Reader] = field(default_factory=dict)
    seen: Seen | None = None
    kept: Callable[[], KeptTexts] | None = None


TrainedModel = Trained[FolderConfig, nn.Module]
TrainedLanguageModel = Trained[LanguageFolderConfig, TokenPredictor]
TrainedRewardModel = Trained[RewardFolderConfig, RewardModel]


@dataclass(frozen=True)
class Kind(Generic[Config, Module]):
    """A kind of model that folders hold."""

    noun: str
    command: str
    config: type[Config]
    build: Callable[[Config], Module]


CLASSIFIER = Kind(
    "classifier", "train", FolderConfig, lambda config: build_model(config.model, config.vocab_size, config.n_classes)
)
LANGUAGE_MODEL = Kind(
    "language model",
    "pretrain",
    LanguageFolderConfig,
    lambda config: build_language_model(config.model, config.vocab_size, n_learned=len(config.new_words)),
)
REWARD_MODEL = Kind(
    "reward model",
    "align reward",
    RewardFolderConfig,
    lambda config: RewardModel(
        build_language_model(config.model, config.vocab_size, n_learned=len(config.new_words)),
        members=len(config.scale.means),
    ),
)
KINDS: dict[str, Kind[Any, Any]] = {
    **dict.fromkeys(FolderConfig.formats.values(), CLASSIFIER),
    LanguageFolderConfig.model_fields["format"].default: LANGUAGE_MODEL,
    RewardFolderConfig.model_fields["format"].default: REWARD_MODEL,
}
"""The kinds of models by their format."""


def save_model(folder: Path, trained: Trained[Any, Any], *, card: str, report: str | None = None) -> None:
    """Write a model folder. If it replaces a model, its evaluation, audit and snapshots go. Other files are kept.

    The new files are first written to a temporary folder, flushed to the disk and read back. Only then do they replace
    the files of an earlier model. After this function has returned, the folder can be read, and a run may delete its
    checkpoint.

    Args:
        report: the page about the held-out rows, if there is one.

    Raises:
        GlassformerError: the files cannot be written. The folder has not changed.
    """
    put_back_alone(folder)
    replaced, new = is_model_folder(folder), not folder.exists()
    texts = {
        "config.json": trained.config.model_dump_json(indent=2) + "\n",
        "tokenizer.json": trained.tokenizer.to_json(),
        "metrics.json": json.dumps(_finite(trained.metrics), indent=2, allow_nan=False) + "\n",
        "README.md": card,
        **({} if report is None else {REPORT_FILE: report}),
    }
    aside = place_aside(folder)
    try:
        aside.mkdir(mode=0o700, parents=True)  # it may hold texts
        _write(aside, texts, trained)
        if taken := [name for name in written(aside) if (aside / name).is_file() and (folder / name).is_dir()]:
            raise GlassformerError(f"{folder / taken[0]} is a folder")
        earlier = [str(path.relative_to(folder)) for each in _OF_EARLIER for path in folder.glob(each)]
        put_in_place(aside, folder, (*(earlier if replaced else ()), *_OF_MODEL))
    except (OSError, SafetensorError, GlassformerError) as error:
        remove_aside(aside)
        needed = sum(map(len, texts.values())) + sum(weight.nbytes for weight in trained.model.state_dict().values())
        raise GlassformerError(f"the model could not be written: {why_not_written(folder, error, needed)}") from error
    finally:
        remove_aside(aside)
        if new:
            with suppress(OSError):  # it is not empty, because it holds the model, or it was not created
                folder.rmdir()
    if replaced:
        with suppress(OSError):  # it holds other files, or does not exist
            (folder / EVALUATION_FOLDER).rmdir()


def _write(place: Path, texts: Mapping[str, str], trained: Trained[Any, Any]) -> None:
    """Write all files, and read back those that `load_model` reads. Both raise various errors if the disk is full."""
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    if odd := not_finite(trained.model):
        raise GlassformerError(f"{odd} holds NaN or infinite weights; the training diverged")
    write_weights(place / "model.safetensors", trained.model)
    save_readers(place, trained.readers)
    if trained.seen is not None:
        trained.seen.save(place)
    if trained.kept is not None:
        trained.kept().save(place, trained.config)
    # The library makes the file readable only for its owner. Give it the permissions of the other files.
    for path in place.rglob("*.safetensors"):
        path.chmod((place / "config.json").stat().st_mode)
    for name in (*KEPT_FILES, REPORT_FILE) if trained.kept is not None else ():
        if (place / name).is_file():
            (place / name).chmod(0o600)  # it holds texts
    write_sums(place)
    for path in filter(Path.is_file, place.rglob("*")):
        with path.open("rb+") as file:
            os.fsync(file.fileno())  # some disks report only now that they are full
    kind = KINDS[trained.config.format]
    config = _read_config(place / "config.json", kind)
    check_weights(place / "model.safetensors", _described(kind, config))
    _read_metrics(place / "metrics.json", kind)
    if (kept := _read_beside(place, config).get("kept")) is not None:
        kept()
    read_tokenizer(place, config.vocab_size)


def _finite(figures: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None."""
    if isinstance(figures, dict):
        return {name: _finite(value) for name, value in figures.items()}
    if isinstance(figures, list | tuple):
        return [_finite(value) for value in figures]
    return None if isinstance(figures, float) and not math.isfinite(figures) else figures


def load_model(folder: Path, kind: Kind[Config, Module]) -> Trained[Config, Module]:
    """Read a model folder of one kind. The model is in evaluation mode, on the CPU.

    Raises:
        UsageError: the folder does not exist, or is not a model folder of this kind.
        GlassformerError: a file is missing, incomplete or of a later format, or does not match the others.
    """
    check_is_folder(folder, command=kind.command)
    return read_at_once(folder, partial(_load, folder, kind))


def _load(folder: Path, kind: Kind[Config, Module]) -> Trained[Config, Module]:
    if is_exported(folder):
        raise UsageError(
            f"{folder} is an exported model, which only answers and explains; name the model folder that it was made of"
        )
    check_files(folder, command=kind.command)
    config = _read_config(folder / "config.json", kind)
    tokenizer = read_tokenizer(folder, config.vocab_size)
    model = read_weights(folder / "model.safetensors", _described(kind, config))
    metrics = _read_metrics(folder / "metrics.json", kind) if (folder / "metrics.json").exists() else {}
    trained = Trained(
        config=config,
        model=model.eval(),
        tokenizer=tokenizer,
        metrics=metrics,
        **_read_beside(folder, config),
    )
    check_sums(folder, unread=NOT_LOADED)  # last, as what is wrong inside a file says more than that it was changed
    return trained


def _read_beside(folder: Path, config: AnyFolderConfig) -> dict[str, Any]:
    """Read what only a model that answers texts has. Its training texts are read when they are asked for."""
    if not isinstance(config, FolderConfig):
        return {}
    return {
        "readers": read_readers(folder, config),
        "seen": None if config.unlike is None else Seen.load(folder, config.unlike),
        "kept": partial(KeptTexts.load, folder, config) if (folder / TEXTS_FILE).exists() else None,
    }


def _described(kind: Kind[Config, Module], config: Config) -> Described[Module]:
    return Described(build=lambda: kind.build(config), depth=getattr(config.model, "n_layers", 0))


def _read_metrics(path: Path, kind: Kind[Any, Any]) -> dict[str, Any]:
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise GlassformerError(f"{path} does not hold figures by name; the file is damaged")
    as_record(kind.config.metrics, raw, path)
    return raw


def _read_config(path: Path, kind: Kind[Config, Any]) -> Config:
    raw = read_json(path)
    found = str(raw.get("format")) if isinstance(raw, dict) else ""
    if not isinstance(raw, dict) or found not in KINDS:
        if isinstance(raw, dict) and "model_type" in raw:
            raise UsageError(_of_transformers(path.parent, raw["model_type"], kind))
        raise UsageError(
            f"{path.parent} is not a glassformer model folder: its config.json was written by another program"
        )
    if KINDS[found] is not kind:
        raise UsageError(
            f"{path.parent} holds a {KINDS[found].noun}; a {kind.noun} is needed here "
            f"(`glassformer {kind.command}` makes one)"
        )
    version = raw.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise GlassformerError(
            f"{path.parent} has format version {version}, and this glassformer reads versions up to "
            f"{FORMAT_VERSION}; update glassformer"
        )
    if isinstance(version, int) and version < OLDEST_VERSION:
        raise GlassformerError(
            f"{path.parent} has format version {version}, from before glassformer 0.1.0, and versions from "
            f"{OLDEST_VERSION} on are read; make it again with `glassformer {kind.command}`"
        )
    config = as_record(kind.config, raw, path)
    if isinstance(config, FolderConfig):
        as_record(Remembered, {"data": config.data, "recipe": config.recipe}, path)
    if isinstance(config, LanguageFolderConfig):
        as_record(RememberedRecords, {"data": config.data}, path)
    return config


def _of_transformers(folder: Path, model_type: object, kind: Kind[Any, Any]) -> str:
    """Say that a folder holds a model of the library transformers, and what to name instead."""
    if (folder / RECORD_FILE).is_file():
        said = f"{folder} is a folder for the library transformers; name the model folder that it was exported from"
    else:
        said = (
            f"{folder} is a model of the library transformers, not of glassformer; name a {kind.noun} that "
            f"`glassformer {kind.command}` made"
        )
    readable = isinstance(model_type, str) and model_type in MODEL_TYPES
    return f"{said}, or train a model that starts from it (`init='hf:{folder}'`)" if readable else said
