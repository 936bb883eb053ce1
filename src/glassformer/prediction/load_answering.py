"""Load what answers: a model folder, or an exported model. PyTorch is only imported where it is needed."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from glassformer.data.checksums import check_sums
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
from glassformer.prediction.folder_names import REPORT_FILE
from glassformer.prediction.reader_files import read_readers
from glassformer.prediction.shipped import shown
from glassformer.readers.counting.unlike import Seen


def load_answering(folder: Path, *, device: str, only_answers: bool = False) -> Answering:
    """Return what answers with the model in a folder. An exported model computes on the CPU, whatever the device.

    Args:
        only_answers: no explanation is asked for. A model whose transformer has no weight is then read without PyTorch.

    Raises:
        UsageError: the folder holds a model that needs PyTorch, which is not installed.
        UsageError, GlassformerError: see `choose_device`, `load_model` and `ExportedPredictor.load`.
    """
    if is_exported(folder):
        return ExportedPredictor.load(folder)
    if only_answers and device in ("auto", "cpu") and (silent := load_silent(folder)) is not None:
        return silent
    if not is_installed("torch"):
        _refuse(folder)
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.predictor import Predictor

    return Predictor.load(folder, device=choose_device(device))


def load_once(folder: Path, device: str) -> Answering:
    """Return the same, read once by a process that answers one part after another, or again if the folder changed."""
    return _kept(folder, device, folder.stat().st_mtime_ns if folder.is_dir() else 0)


@lru_cache(maxsize=1)
def _kept(folder: Path, device: str, _: int) -> Answering:
    return load_answering(folder, device=device, only_answers=True)


def _refuse(folder: Path) -> NoReturn:
    """Say why a folder without an exported model cannot be read without PyTorch."""
    check_is_folder(folder, command="export")
    if format_of(folder) is None:
        raise UsageError(f"{folder} holds no exported model: it has no config.json (`glassformer export` makes one)")
    raise UsageError(
        f"{shown(folder)} needs PyTorch, which is not installed here; export it on a machine that has PyTorch "
        "(`format='onnx'`), and name the exported folder"
    )


_UNREAD = ("README.md", REPORT_FILE, "model.safetensors")


def load_silent(folder: Path) -> ExportedPredictor | None:
    """Return what answers, as an exported model of the folder would.

    None: the transformer is asked too, or something is wrong with it, which
    `load_model` says.
    """
    try:
        config = _config(read_json(folder / "config.json"), folder)
        if config is None or not (folder / "model.safetensors").is_file():
            return None
        exported = Exported(
            config=config,
            tokenizer=read_tokenizer(folder, config.vocab_size),
            session=None,
            readers=read_readers(folder, config),
            seen=None if config.unlike is None else Seen.load(folder, config.unlike),
        )
        check_sums(folder, unread=_UNREAD)
    except (GlassformerError, ValidationError, KeyError, TypeError, AttributeError):
        return None
    return ExportedPredictor(exported)


def _config(raw: Any, folder: Path) -> ExportedConfig | None:
    weights = {
        name: reader["weight"] for name, reader in (raw.get("readers") or {"transformer": {"weight": 1}}).items()
    }
    if (
        raw["format"] not in FORMATS.values()
        or raw["format_version"] != FORMAT_VERSION
        or weights["transformer"]
        or weights.get("encoder")
    ):
        return None
    metrics = read_json(folder / "metrics.json")
    rows = raw["data"].get("teacher", {}).get("rows", raw["data"])
    return ExportedConfig(
        max_seq_len=raw["model"]["max_seq_len"],
        text_column=rows["text_column"] if rows.get("read_as") else None,
        held_out_answers=metrics.get("held_out_answers"),
        held_out=metrics.get("held_out"),
        made_of=MadeOf(),
        checked={},
        **{name: raw[name] for name in AnsweringConfig.model_fields if name in raw},
    )
