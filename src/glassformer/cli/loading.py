"""Load the model of a command that answers: a model folder, or an exported model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.output import say

if TYPE_CHECKING:
    from glassformer.prediction.answering import Answering


def load_answering(model: Path, device: str) -> Answering:
    """Return what answers with this model.

    Raises:
        UsageError, GlassformerError: see `load_model` and `ExportedPredictor.load`.
    """
    from glassformer.prediction.exported import ExportedPredictor, is_exported

    if is_exported(model):
        if device not in ("auto", "cpu"):
            say(f"note: an exported model computes on the CPU; --device {device} is ignored")
        return ExportedPredictor.load(model)
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.predictor import Predictor

    return Predictor.load(model, device=choose_device(device))
