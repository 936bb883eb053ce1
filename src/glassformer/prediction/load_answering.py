"""Load what answers: a model folder, or an exported model. PyTorch is imported only for a model folder."""

from __future__ import annotations

from pathlib import Path

from glassformer.prediction.answering import Answering
from glassformer.prediction.exported import ExportedPredictor, is_exported


def load_answering(folder: Path, *, device: str) -> Answering:
    """Return what answers with the model in a folder. An exported model computes on the CPU, whatever the device.

    Raises:
        UsageError, GlassformerError: see `choose_device`, `load_model` and `ExportedPredictor.load`.
    """
    if is_exported(folder):
        return ExportedPredictor.load(folder)
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.predictor import Predictor

    return Predictor.load(folder, device=choose_device(device))
