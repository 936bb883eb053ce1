"""A model folder that is replaced while it is read."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.checksums import read_at_once
from glassformer.errors import GlassformerError
from glassformer.prediction import load_answering, model_folder
from glassformer.prediction.model_folder import CLASSIFIER, load_model, save_model
from glassformer.targets.labels.target import labels_of
from tests.explanation.test_explain import two_readers

LABELS = ("one", "two", "three")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", two_readers(), card="")
    return tmp_path / "model"


def replacing(folder: Path, then: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that first puts another model into a folder, once."""
    waiting = [two_readers(labels=LABELS)]

    def replaced(*given: Any) -> Any:
        if waiting:
            save_model(folder, waiting.pop(), card="")
        return then(*given)

    return replaced


@pytest.mark.parametrize("module", [model_folder, load_answering], ids=["all", "light"])
def test_no_answer_is_of_two_models(module: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "read_tokenizer", replacing(folder, module.read_tokenizer))
    if module is model_folder:
        target = load_model(folder, CLASSIFIER).config.target
    else:
        target = load_answering.load_answering(folder, device="cpu", answers="few").trained.config.target
    assert labels_of(target).labels == LABELS


def test_a_folder_that_is_replaced_each_time_is_named(tmp_path: Path) -> None:
    times = iter(range(100))

    def read() -> None:
        (tmp_path / "config.json").write_text("a")
        os.utime(tmp_path / "config.json", ns=(0, next(times)))

    with pytest.raises(GlassformerError, match="was replaced again and again while it was read"):
        read_at_once(tmp_path, read)
    assert next(times) > 2
    assert read_at_once(tmp_path, lambda: 3) == 3
