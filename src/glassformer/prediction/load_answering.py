"""Load what answers: a model folder, or an exported model. PyTorch is only imported where it is needed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from glassformer.data.installed import is_installed
from glassformer.errors import UsageError
from glassformer.prediction.answering import Answering
from glassformer.prediction.exported import ExportedPredictor, is_exported
from glassformer.prediction.folder_format import check_is_folder, format_of
from glassformer.prediction.shipped import shown
from glassformer.prediction.silent import load_silent


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
