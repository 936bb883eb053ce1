"""Folders of format 7, in which labels and numbers had settings of their own, and what that version answered."""

import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.prediction.folder_format import FORMAT_VERSION
from glassformer.prediction.model_folder import CLASSIFIER, load_model, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.target import labels_of

FOLDERS = Path(__file__).parent / "version_7"
ANSWERS: dict[str, Any] = json.loads((FOLDERS / "answers.json").read_text())


@pytest.mark.parametrize("name", ["number", "ordered"])
def test_they_answer_as_they_did(name: str, tmp_path: Path) -> None:
    assert json.loads((FOLDERS / name / "config.json").read_text())["format_version"] == 7
    texts = [answer["text"] for answer in ANSWERS[name]]
    trained = load_model(FOLDERS / name, CLASSIFIER)
    save_model(tmp_path / "again", trained, card="")
    assert json.loads((tmp_path / "again" / "config.json").read_text())["format_version"] == FORMAT_VERSION
    for predictor in (Predictor(trained), Predictor.load(tmp_path / "again")):
        for found, expected in zip(predictor.answer(texts).records(), ANSWERS[name], strict=True):
            numbers = {key: value for key, value in expected.items() if isinstance(value, float)}
            assert {key: found[key] for key in numbers} == pytest.approx(numbers, abs=1e-4)
            assert {key: found[key] for key in ("prediction", "unlike_training")} == pytest.approx(
                {key: expected[key] for key in ("prediction", "unlike_training")}, abs=1e-4
            )
            assert (found["readers"] is None) == (expected["prediction"] is None)


def test_the_targets_are_those_of_the_older_settings() -> None:
    number, ordered = (load_model(FOLDERS / name, CLASSIFIER).config for name in ("number", "ordered"))
    assert (number.target.kind, number.target.names, number.format) == ("number", None, "glassformer-number")
    assert number.weights == {"counting": 1.036154, "transformer": 0.3}
    assert (ordered.target.kind, ordered.format) == ("ordered", "glassformer-classifier")
    assert labels_of(ordered.target).labels == ("awful", "poor", "fair", "fine", "superb")
