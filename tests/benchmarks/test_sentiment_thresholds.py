"""The thresholds of the model of the package, found after its training."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sentiment_thresholds import add_thresholds
from glassformer.errors import GlassformerError
from glassformer.targets.labels.held_out import HeldOutAnswers

PROBS = np.array([[0.75, 0.25], [0.125, 0.875], [0.5, 0.5], [0.375, 0.625]], np.float32)
LABELS = np.array([0, 1, 1, 1])


def folder_with(path: Path, accuracy: float) -> Path:
    usual = {
        "rows": 4,
        "labels": {"negative": 0.5, "positive": 0.5},
        "confidence": {"mean": 0.6875, "sd": 0.139754},
        "unseen_share": {"mean": 0.1, "sd": 0.1},
        "unlike_training": 0.0,
    }
    metrics = {"readers": {"accuracy": accuracy}, "held_out_answers": usual}
    (path / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    return path


def test_thresholds_are_added_to_the_figures(tmp_path: Path) -> None:
    add_thresholds(folder_with(tmp_path, 0.75), PROBS, LABELS)
    found = HeldOutAnswers.model_validate(json.loads((tmp_path / "metrics.json").read_text())["held_out_answers"])
    assert found.thresholds is not None
    rule = found.thresholds.rule(0.5)
    assert (rule.below, rule.held_out_rows, rule.automatic, rule.wrong) == (0.75, 4, 2, 0)
    assert found.unseen_share is not None
    assert found.unseen_share.mean == 0.1


def test_other_answers_than_those_of_training_are_refused(tmp_path: Path) -> None:
    before = (folder_with(tmp_path, 0.8) / "metrics.json").read_bytes()
    with pytest.raises(GlassformerError, match="differ from those of training; nothing was changed"):
        add_thresholds(tmp_path, PROBS, LABELS)
    assert (tmp_path / "metrics.json").read_bytes() == before
