"""Load what answers: a model folder, or an exported model. PyTorch is only imported where it is needed."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NoReturn

from glassformer.data.checksums import check_sums, has_sums, version_in
from glassformer.data.installed import is_installed
from glassformer.data.json_files import read_json
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.answering import Answering
from glassformer.prediction.answering_config import AnsweringConfig
from glassformer.prediction.exported import (
    Exported,
    ExportedConfig,
    ExportedPredictor,
    MadeOf,
    is_exported,
    read_tokenizer,
)
from glassformer.prediction.folder_format import FORMAT_VERSION, FORMATS, check_is_folder, format_of
from glassformer.prediction.folder_names import NOT_LOADED
from glassformer.prediction.in_numpy import NotInNumpyError, NumpyClassifier
from glassformer.prediction.reader_files import read_readers
from glassformer.prediction.shipped import shown
from glassformer.readers.counting.unlike import Seen

_WEIGHTS = "model.safetensors"


def load_answering(folder: Path, *, device: str, answers: Literal["few", "many"] | None = None) -> Answering:
    """Return what answers with the model in a folder. An exported model computes on the CPU, whatever the device.

    Args:
        answers: nothing but answers is asked for. A model whose transformer has no weight is then read without PyTorch.
            So is a transformer of our own that answers few texts, as importing PyTorch would take longer, or if PyTorch
            is not installed.

    Raises:
        UsageError: the folder holds a model that needs PyTorch, which is not installed.
        UsageError, GlassformerError: see `choose_device`, `load_model` and `ExportedPredictor.load`.
    """
    if is_exported(folder):
        return ExportedPredictor.load(folder)
    can_import = is_installed("torch")
    few = answers == "few" or not can_import
    if answers and device in ("auto", "cpu") and (light := load_light(folder, few=few)) is not None:
        return light
    if not can_import:
        _refuse(folder)
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.predictor import Predictor

    return Predictor.load(folder, device=choose_device(device))


def for_many(few: Answering, folder: Path, *, device: str) -> Answering:
    """Return what answers many texts faster than `few`. It is `few` if the folder has changed since, or is gone."""
    trained = few.trained
    if not (isinstance(trained, Exported) and isinstance(trained.transformer, NumpyClassifier)):
        return few
    try:
        many = load_answering(folder, device=device, answers="many")
        same = read_json(folder / "config.json")["created"] == trained.config.made_of.created
    except (GlassformerError, KeyError, TypeError):
        return few
    return many if same else few


def load_once(folder: Path, device: str) -> Answering:
    """Return the same, read once by a process that answers one part after another, or again if the folder changed."""
    return _kept(folder, device, folder.stat().st_mtime_ns if folder.is_dir() else 0)


@lru_cache(maxsize=1)
def _kept(folder: Path, device: str, _: int) -> Answering:
    return load_answering(folder, device=device, answers="many")


def _refuse(folder: Path) -> NoReturn:
    """Say why a folder without an exported model cannot be read without PyTorch."""
    check_is_folder(folder, command="export")
    if format_of(folder) is None:
        raise UsageError(f"{folder} holds no exported model: it has no config.json (`glassformer export` makes one)")
    raise UsageError(
        f"{shown(folder)} needs PyTorch, which is not installed here; export it on a machine that has PyTorch "
        "(`format='onnx'`), and name the exported folder"
    )


def load_light(folder: Path, *, few: bool) -> ExportedPredictor | None:
    """Return what answers without PyTorch, as an exported model of the folder would.

    None: the transformer is asked and there are many texts, or its design is only written in PyTorch, or the folder is
    not as it was written, has no checksums or was replaced meanwhile. `load_model` then looks at more of it, and
    says what is wrong.
    """
    try:
        before = version_in(folder)
        raw = read_json(folder / "config.json")
        config = _config(raw, folder)
        if config is None or not (few or config.transformer_is_silent) or not (folder / _WEIGHTS).is_file():
            return None
        if not has_sums(folder):
            return None
        silent = config.transformer_is_silent
        exported = Exported(
            config=config,
            tokenizer=read_tokenizer(folder, config.vocab_size),
            transformer=None
            if silent
            else NumpyClassifier.load(folder / _WEIGHTS, raw["model"], config.vocab_size, config.n_classes),
            readers=read_readers(folder, config),
            seen=None if config.unlike is None else Seen.load(folder, config.unlike),
        )
        check_sums(folder, unread=(*NOT_LOADED, _WEIGHTS) if silent else NOT_LOADED)
        if version_in(folder) != before:
            return None
    except (GlassformerError, NotInNumpyError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return ExportedPredictor(exported)


def _config(raw: Any, folder: Path) -> ExportedConfig | None:
    weights = {name: reader["weight"] for name, reader in (raw.get("readers") or {}).items()}
    if raw["format"] not in FORMATS.values() or raw["format_version"] != FORMAT_VERSION or weights.get("encoder"):
        return None
    metrics = read_json(folder / "metrics.json")
    rows = raw["data"].get("teacher", {}).get("rows", raw["data"])
    return ExportedConfig(
        max_seq_len=raw["model"]["max_seq_len"],
        text_column=rows["text_column"] if rows.get("read_as") else None,
        held_out_answers=metrics.get("held_out_answers"),
        held_out=metrics.get("held_out"),
        made_of=MadeOf(created=raw.get("created", "")),
        checked={},
        **{name: raw[name] for name in AnsweringConfig.model_fields if name in raw},
    )
