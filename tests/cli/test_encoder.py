"""Models that read with a pre-trained encoder (`--set model.body=hf:…`), by each command."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

from glassformer.serving.api import create_app
from glassformer.serving.served_model import ServedModel
from tests.checkpoints import describe_encoder, write_checkpoint
from tests.cli.terminal import glassformer, misused
from tests.matrix.samples import SHORT
from tests.trained import write_csv

QUICK = ("--preset", "tiny", "--set", "model.d_model=16", "--epochs", "0", "--device", "cpu")
GOOD, BAD = ("i loved the cast", "loved loved the plot"), ("a dull dull book", "it was langweilig")
WHOLE = True  # a head must learn random vectors: all steps are taken
ROWS = [(text, label) for label, texts in (("good", GOOD), ("bad", BAD)) for text in texts] * 8


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)  # some random weights tell these texts apart less well
    write_checkpoint(folder, "bert", "Model", num_hidden_layers=1)
    describe_encoder(folder, ("Pooling", {"pooling_mode": "mean"}), ("Normalize", {}))
    return folder


@pytest.fixture(scope="module")
def made(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    alone = ("--set", "model.counting=none", "--set", f"model.body=hf:{encoder}")
    trained = glassformer("train", write_csv(folder / "rows.csv", ROWS), "--out", folder / "model", *QUICK, *alone)
    assert trained.code == 0, trained.err
    assert "fitting the encoder reader to all 32 rows" in trained.err
    assert "encoding 4 texts: 1 block of width 24, 3 heads, pooling mean, of length 1" in trained.err
    return folder / "model"


def test_an_encoder_alone_is_not_fitted_again_to_be_attacked(encoder: Path, tmp_path: Path) -> None:
    rows = [(f"{text} {number}", label) for number, (text, label) in enumerate(ROWS * 2)]
    alone = ("--set", "model.counting=none", "--set", f"model.body=hf:{encoder}")
    glassformer(
        "train", write_csv(tmp_path / "rows.csv", rows), "--out", tmp_path / "m", *QUICK, "--epochs", "0", *alone
    )
    audited = glassformer("audit", tmp_path / "m")
    assert audited.code == 0, audited.err
    assert "the model asks the encoder reader, and not all of them" in audited.out


def test_it_answers_by_the_encoder_and_says_so(made: Path) -> None:
    assert sorted(file.name for file in (made / "readers" / "encoder").iterdir()) == [
        "encoder.json", "head.safetensors", "model.safetensors", "tokenizer.json"
    ]  # fmt: skip
    asked = glassformer("predict", made, GOOD[0], BAD[0])
    assert [line.split()[0] for line in asked.out.splitlines()] == ["good", "bad"]
    card = (made / "README.md").read_text()
    assert "the vectors of a pre-trained encoder" in card
    assert "1 block of width 24, 3 heads, pooling mean, of length 1. This card does not know" in card
    audited = {each["name"]: each for each in glassformer("audit", made, "--json").document["files"]}
    assert audited["readers/encoder/model.safetensors"]["give_away"]


def test_it_is_measured_explained_and_traced(made: Path, tmp_path: Path) -> None:
    test = write_csv(tmp_path / "test.csv", [("i loved it", "good"), ("dull book", "bad")] * 5)
    measured = glassformer("evaluate", made, test, "--json")
    size = measured.document["duel"]["model"]["size_bytes"]
    assert size > sum(file.stat().st_size for file in (made / "readers" / "encoder").iterdir())
    explained = glassformer("explain", made, "i loved the cast", "--json").document
    assert explained["readers"] == ["encoder"]
    assert max(explained["words"], key=lambda word: abs(word["encoder"]))["word"]
    long = glassformer("explain", made, " ".join(["dull", "loved"] * 150), "--json").document
    assert len(long["words"]) == 300
    traced = glassformer("trace", made, "i loved the cast", "--html", tmp_path / "t.html", "--npz", tmp_path / "t.npz")
    assert traced.code == 0, traced.err
    with np.load(tmp_path / "t.npz") as found:
        scores = found["encoder.weight"] @ found["encoder.vector"] + found["encoder.bias"]
        assert np.allclose(found["encoder.scores"], scores)
        assert len(found["encoder.vector"]) == 24


def test_it_is_not_exported_but_distilled(made: Path, tmp_path: Path) -> None:
    for kind in ("onnx", "onnx-int8", "web"):
        refused = glassformer("export", made, "--format", kind, "--out", tmp_path / "e")
        misused(refused, "asks a pre-trained encoder, which needs PyTorch", "distil")
    misused(
        glassformer("export", made, "--format", "transformers", "--out", tmp_path / "e"), "`glassformer distil` makes"
    )
    texts = write_csv(tmp_path / "texts.csv", [(text,) for text, _ in ROWS], ("text",))
    student = glassformer("distil", made, texts, "--into", "tiny", "--out", tmp_path / "student", *SHORT)
    assert student.code == 0, student.err
    assert "readers" not in {file.name for file in (tmp_path / "student").iterdir()}


def test_an_encoder_that_cannot_be_read_is_refused_before_the_run(encoder: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "rows.csv", ROWS)
    asked = ("train", table, "--out", tmp_path / "m", *QUICK)
    misused(glassformer(*asked, "--set", f"model.body=hf:{tmp_path}"), "model.body=", "holds no config.json")
    misused(glassformer(*asked, "--set", f"model.body=hf:{tmp_path / 'none'}"), "no such folder")
    assert not (tmp_path / "m" / "config.json").exists()
    tuned = ("--set", "training.tune_body=2")
    misused(glassformer(*asked, *tuned), "tunes an encoder; name one")
    config = json.loads((encoder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "t5"}))
    misused(glassformer(*asked, "--set", f"model.body=hf:{tmp_path}"), "'t5'")


def test_it_is_served(made: Path) -> None:
    model = ServedModel.load("model", made, device="cpu")
    with TestClient(create_app({"model": model})) as client:
        answer = client.post("/predict", json={"text": "i loved the cast"}).json()
        assert answer["answers"][0]["prediction"] == "good"


@pytest.mark.parametrize("target", ["classes", "number"])
def test_it_is_tuned_if_asked(encoder: Path, tmp_path: Path, target: str) -> None:
    rows = [(text, str(3.0 * (label == "good"))) for text, label in ROWS] if target == "number" else ROWS
    asked = ("--set", "model.counting=none", "--set", f"model.body=hf:{encoder}", "--set", "training.tune_body=1")
    kind = ("--task", "number", "--label", "label") if target == "number" else ()
    trained = glassformer("train", write_csv(tmp_path / "r.csv", rows), "--out", tmp_path / "m", *QUICK, *kind, *asked)
    assert trained.code == 0, trained.err
    assert "times: without the rows of each fold, and on all rows" in trained.err
    assert "tuned on pairs of these rows" in (tmp_path / "m" / "README.md").read_text()
    good, bad = glassformer("predict", tmp_path / "m", GOOD[0], BAD[0], "--json").document["answers"]
    assert good["prediction"] > bad["prediction"]
