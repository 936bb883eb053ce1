"""A model whose transformer has no weight answers without PyTorch, as it does with it."""

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from glassformer.errors import GlassformerError
from glassformer.prediction.exported import ExportedPredictor
from glassformer.prediction.load_answering import load_answering
from glassformer.prediction.model_folder import save_model
from glassformer.prediction.predictor import Predictor
from tests.explanation.test_explain import two_readers
from tests.trained import Trained

TEXT = "the plot is thin, but i loved it"
ANSWERED = """
import sys
from glassformer.__main__ import main
sys.argv = ["glassformer", "predict", *sys.argv[1:]]
try:
    main()
except SystemExit:
    print(*{name.partition(".")[0] for name in sys.modules} & {"torch", "polars", "scipy", "sklearn"}, "imported")
"""


def saved(folder: Path, *, transformer: float) -> Path:
    save_model(folder, two_readers(transformer=transformer), card="# A model\n")
    return folder


def test_the_answers_are_the_same_without_pytorch(tmp_path: Path) -> None:
    folder = saved(tmp_path / "silent", transformer=0.0)
    silent, whole = load_answering(folder, device="auto", only_answers=True), load_answering(folder, device="auto")
    assert isinstance(silent, ExportedPredictor)
    assert isinstance(whole, Predictor)
    texts = [TEXT, "not at all", ""]
    assert [*silent.answer(texts).records()] == [*whole.answer(texts).records()]
    assert (silent.notes, silent.text_column, silent.held_out) == (whole.notes, whole.text_column, whole.held_out)
    command = (sys.executable, "-c", ANSWERED, str(folder), TEXT, "--json")
    said = subprocess.run(command, capture_output=True, text=True).stdout
    assert '"prediction"' in said
    assert said.endswith("\nimported\n"), said[-40:]


@pytest.mark.usefixtures("unsealed")
def test_a_trained_model_knows_what_the_whole_one_knows(reviews: Trained, tmp_path: Path) -> None:
    folder = copytree(reviews.folder, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["readers"] |= {"counting": {"weight": 1.0}, "transformer": {"weight": 0.0}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    silent = load_answering(folder, device="cpu", only_answers=True)
    whole = load_answering(folder, device="cpu")
    assert isinstance(silent, ExportedPredictor)
    assert silent.text_column == whole.text_column == "text"
    assert silent.held_out == whole.held_out is not None
    assert [*silent.answer([TEXT]).records()] == [*whole.answer([TEXT]).records()]


def test_a_transformer_with_a_weight_is_asked(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", transformer=0.7)
    assert isinstance(load_answering(folder, device="cpu", only_answers=True), Predictor)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "counting.json", "model.safetensors"])
def test_what_is_wrong_with_a_folder_is_said_as_always(tmp_path: Path, name: str) -> None:
    folder = saved(tmp_path / "model", transformer=0.0)
    (folder / name).unlink()
    with pytest.raises(GlassformerError) as whole:
        load_answering(folder, device="cpu")
    with pytest.raises(GlassformerError) as silent:
        load_answering(folder, device="cpu", only_answers=True)
    assert silent.value.message == whole.value.message


def test_a_reader_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", transformer=0.0)
    counting = folder / "counting.json"
    counting.write_text(counting.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(GlassformerError, match="is not as it was written"):
        load_answering(folder, device="cpu", only_answers=True)
