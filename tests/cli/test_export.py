import json
import shutil
from pathlib import Path

import pytest

from glassformer.exporting.export import FORMATS
from glassformer.prediction.model_folder import save_model
from glassformer.readers.encoder.training import read_encoder
from tests.cli.terminal import commands, failed, glassformer, misused
from tests.prediction.language import trained_language_model
from tests.trained import Trained

TO = ("--format", "transformers")


def test_a_model_is_exported(attending: Trained, tmp_path: Path) -> None:
    out = tmp_path / "hf"
    said = glassformer("export", attending.folder, *TO, "--out", out)
    assert said.code == 0, said.err
    assert said.out.startswith(f"{out}: {attending.folder} as transformers, ")
    assert "EuroBERT" in said.err
    assert f"next: in Python: transformers.pipeline(\"text-classification\", model='{out}'" in said.err
    assert "counting" not in said.err
    of_transformers = f"{out} is a folder for the library transformers; name the model folder that it was exported from"
    for command in (("evaluate", out, attending.table), ("predict", out, "good film")):
        misused(glassformer(*command), of_transformers, f"--init hf:{out}")
    misused(glassformer("export", attending.folder, *TO, "--out", out), "already holds an export", "--overwrite")
    quiet = glassformer("export", attending.folder, *TO, "--out", out, "--overwrite", "--json", "--quiet")
    assert quiet.err == ""
    assert quiet.document["files"].keys() == {path.name for path in out.iterdir()}
    assert quiet.document["format"] == "transformers"
    assert "read back" in quiet.document["notes"][-1]


def test_an_onnx_folder_answers_and_explains(reviews: Trained, tmp_path: Path) -> None:
    out = tmp_path / "onnx"
    said = glassformer("export", reviews.folder, "--format", "onnx", "--out", out)
    assert "The transformer does not take part in the answers, so the export holds no ONNX file." in said.err
    assert f'next: glassformer predict {out} "a text"' in said.err
    assert "ONNX Runtime" not in (out / "README.md").read_text()  # nothing is left to run with it
    answered = glassformer("predict", out, "good film", "--json").document
    assert answered == glassformer("predict", reviews.folder, "good film", "--json").document
    table = glassformer("predict", out, "--file", reviews.table).out
    assert table == glassformer("predict", reviews.folder, "--file", reviews.table).out
    explained = glassformer("explain", out, "good film", "--json").document
    assert explained == glassformer("explain", reviews.folder, "good film", "--json").document
    for command in (("evaluate", out, reviews.table), ("trace", out, "good film")):
        misused(glassformer(*command), f"{out} is an exported model, which only answers and explains")
    (out / "tokenizer.json").unlink()
    failed(glassformer("predict", out, "good film"), "tokenizer.json")


def test_training_starts_from_an_export(attending: Trained, tmp_path: Path) -> None:
    hf = tmp_path / "hf"
    glassformer("export", attending.folder, *TO, "--out", hf)
    few = ("--set", "training.epochs=1", "--set", "training.min_steps_per_epoch=3")
    again = glassformer("train", attending.table, "--init", f"hf:{hf}", "--out", tmp_path / "m", *few)
    assert again.code == 0, again.err
    assert f"weights: hf:{hf}, the head too" in again.err
    assert glassformer("export", tmp_path / "m", *TO, "--out", hf, "--overwrite").code == 0
    assert read_encoder(f"hf:{hf}").vectors(["good film", ""]).shape[0] == 2


@pytest.mark.usefixtures("unsealed")
def test_a_model_whose_transformer_is_not_asked(reviews: Trained, tmp_path: Path) -> None:
    folder = shutil.copytree(reviews.folder, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["readers"]["transformer"]["weight"] = 0.0
    (folder / "config.json").write_text(json.dumps(config))
    said = glassformer("export", folder, *TO, "--out", tmp_path / "hf")
    misused(said, "answers by counting and the body alone", "--set model.counting=none")


def test_mistakes(attending: Trained, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "hf")
    misused(glassformer("export", attending.folder, "--format", "gguf", *out), "--format gguf", "transformers")
    misused(glassformer("export", tmp_path / "none", *TO, *out), "no such model folder")
    misused(glassformer("export", attending.table, *TO, *out), "is a file")
    shipped = glassformer("export", "sentiment-en", "--format", "onnx-int8", *out)
    misused(shipped, "error: sentiment-en cannot be exported", "checked on validation rows", "--format onnx")
    misused(glassformer("export", attending.folder, *TO, "--out", attending.table), "--out", "is a file")
    misused(glassformer("export", attending.folder, *TO, "--out", attending.folder), "other files")
    save_model(tmp_path / "writer", trained_language_model(), card="")
    misused(glassformer("export", tmp_path / "writer", *TO, *out), "holds a language model")
    (attending.folder / "model.safetensors").rename(tmp_path / "weights")
    try:
        failed(glassformer("export", attending.folder, *TO, *out), "model.safetensors is missing")
    finally:
        (tmp_path / "weights").rename(attending.folder / "model.safetensors")
    assert not (tmp_path / "hf").exists()


def test_the_help_names_every_format() -> None:
    (command,) = (command for name, command in commands() if name == "export")
    (option,) = (parameter for parameter in command.params if "--format" in parameter.opts)
    assert all(f"{name}:" in option.help for name in FORMATS)


@pytest.mark.parametrize("missing", ["--format", "--out"])
def test_both_are_needed(missing: str, attending: Trained, tmp_path: Path) -> None:
    given = {"--format": "transformers", "--out": str(tmp_path / "hf")}
    del given[missing]
    said = glassformer("export", attending.folder, *(part for pair in given.items() for part in pair))
    assert said.code == 2
    assert missing in said.err
