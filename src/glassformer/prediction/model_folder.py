"""The model folder: what training leaves and everything else reads. JSON and safetensors, nothing executable.

config.json         format, model shape, tokenizer settings, data, recipe, versions, and what the kind of model adds
tokenizer.json      the vocabulary, in the format of the `tokenizers` library
model.safetensors   the weights
metrics.json        the training history and what was measured on validation
README.md           the model card

A kind of model is a line of `KINDS`: `load_model(folder, CLASSIFIER)` reads one, `save_model` writes any.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import torch
from pydantic import BaseModel, ConfigDict, PositiveFloat, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from glassformer.data.labels import LabelSet, label_name
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import AnyLanguageModelConfig, AnyModelConfig, build_language_model, build_model
from glassformer.models.format import renamed
from glassformer.models.language_model import TokenPredictor
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.reward import RewardModel

FORMAT_VERSION = 2
FILES = ("config.json", "tokenizer.json", "model.safetensors")
CHECKPOINT_FOLDER, RUN_FILE, STATE_FILE = "checkpoint", "run.json", "state.safetensors"
"""Where an unfinished run keeps what it needs, and the files in it that say what it began with and where it stands."""
EVALUATION_FOLDER, REPORT_FILE, FIGURES_FILE = "evaluation", "report.html", "metrics.json"
"""Where `evaluate` writes, and what."""


class NewWord(BaseModel):
    """A word that a model was taught after training (`glassformer learn-word`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    word: str
    """As the vocabulary spells it."""
    definition: str
    source: str
    """Where the definition is from: `given`, or the name of a dictionary."""
    method: Literal["map", "average"]
    """Its embedding: found from the definition by a fitted map, or the average of the definition's embeddings."""


class AnyFolderConfig(BaseModel):
    """`config.json`: all that is needed to rebuild the model, and where it came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str
    """The kind of model, a key of `KINDS`."""
    format_version: int = FORMAT_VERSION
    model: Any
    vocab_size: int
    tokenizer: TokenizerConfig
    data: dict[str, Any]
    """Source, columns, rows, fingerprint: what the model learned from."""
    init: dict[str, str] | None = None
    """Weights that training started from: their name (`from`) and fingerprint; none where it started from nothing."""
    recipe: dict[str, Any]
    versions: dict[str, str]
    created: str
    training_seconds: float
    new_words: tuple[NewWord, ...] = ()
    """Words added after training, in the order of their ids, the last of the vocabulary."""


class FolderConfig(AnyFolderConfig):
    """`config.json` of a classifier."""

    format: str = "glassformer-classifier"
    model: AnyModelConfig
    labels: tuple[str | int | float | bool, ...]
    multilabel: bool
    temperature: PositiveFloat

    @property
    def n_classes(self) -> int:
        return len(self.labels)

    @property
    def label_set(self) -> LabelSet:
        return LabelSet(names=tuple(map(label_name, self.labels)), multilabel=self.multilabel)


class LanguageFolderConfig(AnyFolderConfig):
    """`config.json` of a language model."""

    format: str = "glassformer-language-model"
    model: AnyLanguageModelConfig


class RewardFolderConfig(AnyFolderConfig):
    """`config.json` of a reward model."""

    format: str = "glassformer-reward-model"
    model: LanguageModelConfig


Config = TypeVar("Config", bound=AnyFolderConfig)
Module = TypeVar("Module", bound=nn.Module)


@dataclass(frozen=True, kw_only=True)
class Trained(Generic[Config, Module]):
    """A model with everything that it needs to answer, judge or write."""

    config: Config
    model: Module
    tokenizer: TextTokenizer
    metrics: dict[str, Any]


TrainedModel = Trained[FolderConfig, nn.Module]
TrainedLanguageModel = Trained[LanguageFolderConfig, TokenPredictor]
TrainedRewardModel = Trained[RewardFolderConfig, nn.Module]


@dataclass(frozen=True)
class Kind(Generic[Config, Module]):
    """A kind of model that folders hold.

    Attributes:
        noun: what it is called.
        command: what makes one.
        build: the module that a config describes, with any weights.
    """

    noun: str
    command: str
    config: type[Config]
    build: Callable[[Config], Module]

    @property
    def format(self) -> str:
        """What `config.json` calls it."""
        return str(self.config.model_fields["format"].default)


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
    "reward model", "align reward", RewardFolderConfig, lambda config: RewardModel(config.model, config.vocab_size)
)
KINDS: dict[str, Kind[Any, Any]] = {kind.format: kind for kind in (CLASSIFIER, LANGUAGE_MODEL, REWARD_MODEL)}
"""By format."""


def save_model(folder: Path, trained: Trained[Any, Any], *, card: str) -> None:
    """Write a model folder beside `folder`, then put it in place file by file; other files there are left alone.

    The evaluation of a model that is replaced goes with it.
    """

    def write(place: Path) -> None:
        config = trained.config.model_copy(
            update={"format_version": FORMAT_VERSION}
        )  # it may have been read as another
        (place / "config.json").write_text(config.model_dump_json(indent=2) + "\n", encoding="utf-8")
        trained.tokenizer.save(place / "tokenizer.json")
        weights = {name: tensor.detach().cpu().contiguous() for name, tensor in trained.model.state_dict().items()}
        save_file(weights, place / "model.safetensors")
        # The library makes it readable to its owner alone; whoever may read the rest may read it.
        (place / "model.safetensors").chmod((place / "config.json").stat().st_mode)
        (place / "metrics.json").write_text(json.dumps(trained.metrics, indent=2) + "\n", encoding="utf-8")
        (place / "README.md").write_text(card, encoding="utf-8")

    replaced = is_model_folder(folder)
    write_aside(folder, write)
    if replaced:
        for name in (REPORT_FILE, FIGURES_FILE):
            (folder / EVALUATION_FOLDER / name).unlink(missing_ok=True)
        with suppress(OSError):  # others' files are in it, or it is not there
            (folder / EVALUATION_FOLDER).rmdir()


def write_aside(folder: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a hidden folder next to `folder`, then move each of its files into place.

    If `write` fails, the old files stay as they were. A model is replaced by way of a folder without `config.json`,
    which is not a model folder: files of two models are never read together.
    """
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".writing-{os.getpid()}"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        write(aside)
        if (aside / "config.json").is_file():
            (folder / "config.json").unlink(missing_ok=True)
        for file in sorted(aside.iterdir(), key=lambda path: path.name == "config.json"):
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def is_model_folder(folder: Path) -> bool:
    """Whether it holds a model of ours, of any kind."""
    return format_of(folder) in KINDS


def format_of(folder: Path) -> str | None:
    """The format that `config.json` names, also where the rest of it is damaged; none where it names none."""
    file = folder / "config.json"
    if not file.is_file():
        return None
    text = file.read_text(encoding="utf-8", errors="replace")
    try:
        raw = json.loads(text)
    except ValueError:
        named = re.search(r'"format"\s*:\s*"([^"]*)"', text)
        return None if named is None else named[1]
    return str(raw.get("format")) if isinstance(raw, dict) else None


def is_unfinished(folder: Path) -> bool:
    """Whether it holds a run that `--resume` goes on with."""
    return any((folder / CHECKPOINT_FOLDER / name).is_file() for name in (RUN_FILE, STATE_FILE))


def load_model(folder: Path, kind: Kind[Config, Module]) -> Trained[Config, Module]:
    """Read a model folder of one kind; the model is in evaluation mode, on the CPU.

    Raises:
        UsageError: there is no such folder, or it is not a model folder of this kind.
        GlassformerError: a file is missing, cut short, of a later format, or does not fit the others.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such model folder")
    present = [name for name in FILES if (folder / name).is_file()]
    if not present and is_unfinished(folder):
        raise UsageError(
            f"{folder} is not a model folder yet: it holds an unfinished run; the command that began it goes on with "
            "--resume"
        )
    if not present:
        raise UsageError(
            f"{folder} is not a model folder: it holds no config.json (`glassformer {kind.command}` makes one)"
        )
    if missing := [name for name in FILES if name not in present]:
        raise GlassformerError(f"{folder}: {', '.join(missing)} is missing from the model folder; copy it again whole")
    config = _read_config(folder / "config.json", kind)
    tokenizer = TextTokenizer.load(folder / "tokenizer.json")
    if tokenizer.vocab_size != config.vocab_size:
        raise GlassformerError(
            f"{folder}: tokenizer.json has {tokenizer.vocab_size} tokens where config.json says {config.vocab_size}; "
            "the files come from different models"
        )
    try:
        model = kind.build(config)
    except (RuntimeError, ValueError) as error:  # more than memory holds, or sizes that exclude each other
        cause = str(error).splitlines()[0]
        raise GlassformerError(f"{folder}: the model that config.json describes cannot be built ({cause})") from error
    _load_weights(model, folder / "model.safetensors", config.format_version)
    metrics_file = folder / "metrics.json"
    metrics = _read_json(metrics_file) if metrics_file.is_file() else {}
    if not isinstance(metrics, dict):
        raise GlassformerError(f"{metrics_file} does not hold figures by name; the file is damaged")
    return Trained(config=config, model=model.eval(), tokenizer=tokenizer, metrics=metrics)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # UnicodeDecodeError included
        raise GlassformerError(f"{path} is not readable JSON ({error}); the file is damaged or cut short") from error


def _read_config(path: Path, kind: Kind[Config, Any]) -> Config:
    raw = _read_json(path)
    found = str(raw.get("format")) if isinstance(raw, dict) else ""
    if not isinstance(raw, dict) or found not in KINDS:
        raise UsageError(f"{path.parent} is not a glassformer model folder: its config.json is of another program")
    if found != kind.format:
        raise UsageError(
            f"{path.parent} holds a {KINDS[found].noun}; a {kind.noun} is needed here "
            f"(`glassformer {kind.command}` makes one)"
        )
    version = raw.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise GlassformerError(
            f"{path.parent} has format version {version}, and this glassformer reads up to "
            f"{FORMAT_VERSION}; update glassformer"
        )
    try:
        return kind.config.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise GlassformerError(f"{path}: {where}: {first['msg']}; the file is damaged") from error


def _load_weights(model: nn.Module, path: Path, version: int) -> None:
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise GlassformerError(f"{path} is cut short or damaged ({error}); copy the folder again") from error
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if version == 1:
        weights = renamed(weights, expected)
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if expected != found:
        odd = next(name for name in expected | found if expected.get(name) != found.get(name))
        raise GlassformerError(
            f"{path}: {odd} is {found.get(odd, 'absent')} where config.json implies {expected.get(odd, 'none')}; "
            "the files come from different models"
        )
    with torch.no_grad():
        model.load_state_dict(weights)
