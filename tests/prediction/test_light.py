"""A model answers without PyTorch, as it does with it, if its transformer is silent, or if the texts are few."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from safetensors.torch import load_file, save_file

from glassformer.data.checksums import write_sums
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.exported import ExportedPredictor
from glassformer.prediction.load_answering import for_many, load_answering
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
    silent, whole = load_answering(folder, device="auto", answers="many"), load_answering(folder, device="auto")
    assert isinstance(silent, ExportedPredictor)
    assert isinstance(whole, Predictor)
    texts = [TEXT, "not at all", ""]
    assert [*silent.answer(texts).records()] == [*whole.answer(texts).records()]
    assert (silent.notes, silent.text_column, silent.held_out) == (whole.notes, whole.text_column, whole.held_out)
    command = (sys.executable, "-c", ANSWERED, str(folder), TEXT, "--json")
    said = subprocess.run(command, capture_output=True, text=True).stdout
    assert '"prediction"' in said
    assert said.endswith("\nimported\n"), said[-40:]


def test_a_trained_model_knows_what_the_whole_one_knows(reviews: Trained, tmp_path: Path) -> None:
    folder = copytree(reviews.folder, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["readers"] |= {"counting": {"weight": 1.0}, "transformer": {"weight": 0.0}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_sums(folder)
    silent = load_answering(folder, device="cpu", answers="many")
    whole = load_answering(folder, device="cpu")
    assert isinstance(silent, ExportedPredictor)
    assert silent.text_column == whole.text_column == "text"
    assert silent.held_out == whole.held_out is not None
    assert [*silent.answer([TEXT]).records()] == [*whole.answer([TEXT]).records()]


def test_without_checksums_more_of_a_folder_is_looked_at(tmp_path: Path) -> None:
    folder = saved(tmp_path / "silent", transformer=0.0)
    (folder / "SHA256SUMS").unlink()
    assert isinstance(load_answering(folder, device="cpu", answers="few"), Predictor)


def test_many_texts_are_answered_by_pytorch(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", transformer=0.7)
    assert isinstance(load_answering(folder, device="cpu", answers="many"), Predictor)


def test_few_texts_are_answered_without_it(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", transformer=0.7)
    light, whole = load_answering(folder, device="auto", answers="few"), load_answering(folder, device="auto")
    assert isinstance(light, ExportedPredictor)
    texts = [TEXT, "not at all", "", f"{TEXT}. " * 100]  # the last one has many windows
    for ours, theirs in zip(light.answer(texts).records(), whole.answer(texts).records(), strict=True):
        assert ours["prediction"] == theirs["prediction"]
        assert ours["confidence"] == pytest.approx(theirs["confidence"], abs=2e-6)
        assert ours.get("readers") == pytest.approx(theirs.get("readers"), abs=1e-5)


@pytest.mark.parametrize(
    ("asked", "piped", "with_torch"),
    [
        ((TEXT,), "", False),
        (("--file", "texts.csv", "--text", "text"), "", False),
        ((), TEXT, False),
        ((), f"{TEXT}\n" * 2_100, True),
    ],
)
def test_predict_imports_pytorch_only_for_many_texts(
    tmp_path: Path, asked: tuple[str, ...], piped: str, with_torch: bool
) -> None:
    folder = saved(tmp_path / "model", transformer=0.7)
    (tmp_path / "texts.csv").write_text(f'text\n"{TEXT}"\n', encoding="utf-8")
    command = (sys.executable, "-c", ANSWERED, str(folder), *asked, "--jsonl")
    done = subprocess.run(command, capture_output=True, text=True, input=piped, cwd=tmp_path)
    *answers, imported = done.stdout.splitlines()
    assert len(answers) == max(1, piped.count("\n"))
    assert len({json.loads(answer)["prediction"] for answer in answers}) == 1
    assert ("torch" in imported.split()) == with_torch, imported


@pytest.mark.parametrize("transformer", [0.0, 0.7])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "counting.json", "model.safetensors"])
def test_what_is_wrong_with_a_folder_is_said_as_always(tmp_path: Path, name: str, transformer: float) -> None:
    folder = saved(tmp_path / "model", transformer=transformer)
    (folder / name).unlink()
    with pytest.raises(GlassformerError) as whole:
        load_answering(folder, device="cpu")
    with pytest.raises(GlassformerError) as light:
        load_answering(folder, device="cpu", answers="few")
    assert light.value.message == whole.value.message


def test_wrong_settings_of_a_transformer_are_said_as_always(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", transformer=0.7)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["model"]["d_model"] *= 2
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_sums(folder)
    with pytest.raises(GlassformerError, match="the files come from different models"):
        load_answering(folder, device="cpu", answers="few")


def test_a_reader_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", transformer=0.0)
    counting = folder / "counting.json"
    counting.write_text(counting.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(GlassformerError, match="is not as it was written"):
        load_answering(folder, device="cpu", answers="many")


def test_a_folder_that_changes_while_a_pipe_is_answered_changes_no_answer(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", transformer=0.7)
    few = load_answering(folder, device="cpu", answers="few")
    assert isinstance(for_many(few, folder, device="cpu"), Predictor)
    whole = load_answering(folder, device="cpu")
    assert for_many(whole, folder, device="cpu") is whole
    other = two_readers()
    save_model(folder, replace(other, config=other.config.model_copy(update={"created": "later"})), card="# Another")
    assert for_many(few, folder, device="cpu") is few
    rmtree(folder)
    assert for_many(few, folder, device="cpu") is few


@pytest.mark.filterwarnings("error")
def test_damaged_weights_end_in_the_error_alone(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", transformer=0.7)
    stored = load_file(folder / "model.safetensors")
    large = {name: tensor * (1e25 if "attention.in" in name else 1) for name, tensor in stored.items()}
    save_file(large, folder / "model.safetensors")
    write_sums(folder)
    light = load_answering(folder, device="cpu", answers="few")
    assert isinstance(light, ExportedPredictor)
    with pytest.raises(GlassformerError, match="damaged"):
        light.answer([TEXT])


def test_many_texts_are_answered_so_where_pytorch_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(tmp_path / "model", transformer=0.7)
    monkeypatch.setattr("glassformer.prediction.load_answering.is_installed", lambda package: package != "torch")
    assert isinstance(load_answering(folder, device="cpu", answers="many"), ExportedPredictor)
    with pytest.raises(UsageError, match="needs PyTorch"):
        load_answering(folder, device="cpu")
