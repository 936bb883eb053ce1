"""Exports of models that answer with a number."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.errors import GlassformerError, UsageError
from glassformer.explanation.explain import explain
from glassformer.exporting.export import export
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.exported import ExportedPredictor
from glassformer.prediction.load_answering import load_answering
from glassformer.prediction.model_folder import CLASSIFIER, load_model, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.serving.served_model import ServedModel
from glassformer.targets.number.target import number_of
from tests.cli.terminal import QUICK, glassformer
from tests.exporting.test_onnx import LIGHT
from tests.serving.samples import of_numbers
from tests.support import unchecked_shapes
from tests.training.test_number import scored

TEXTS = ["superb film 3", " ", "zzz", "awful song " * 300]


@pytest.fixture(autouse=True, scope="module")
def without_checks_of_shapes() -> Iterator[None]:
    with unchecked_shapes():
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return of_numbers(tmp_path_factory.mktemp("scores") / "model")["scores"].folder


@pytest.fixture(scope="module")
def exported(model: Path) -> Path:
    out = model.parent / "exported"
    notes = export(model, out, to="onnx").notes
    assert notes[0].startswith("The scores of the transformer differ by at most ")
    return out


def test_it_answers_as_the_model_does(model: Path, exported: Path) -> None:
    ours, theirs = Predictor.load(model), load_answering(exported, device="auto")
    assert isinstance(theirs, ExportedPredictor)
    expected, found = ours.answer(TEXTS), theirs.answer(TEXTS)
    assert ours.trained.config.weights["transformer"] == 0.5
    np.testing.assert_allclose(found.values, expected.values, atol=1e-4)
    np.testing.assert_allclose(found.readers["transformer"], expected.readers["transformer"], atol=1e-4)
    assert np.ptp(expected.readers["transformer"]) > 1e-3, "the transformer tells texts apart"
    for one, other in zip(found.records(), expected.records(), strict=True):
        assert one.keys() == other.keys()
        assert one["interval_low"] == pytest.approx(other["interval_low"], abs=1e-4)
        assert one["unseen_share"] == other["unseen_share"]
    assert found.unknown == expected.unknown
    effects = [[word.total for word in explain(each, TEXTS[0]).words] for each in (ours, theirs)]
    np.testing.assert_allclose(effects[1], effects[0], atol=1e-4)


def test_it_answers_where_torch_is_not_installed(model: Path, exported: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIGHT, f"predict {exported} '{TEXTS[0]}' --json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    ((code, out, err),) = json.loads(done.stdout)
    assert code == 0, err
    (answer,) = json.loads(out)["answers"]  # on the other stream, a slow machine says what it does
    expected = next(Predictor.load(model).answer(TEXTS[:1]).records())
    for name in ("prediction", "interval_low", "interval_high"):
        assert answer[name] == pytest.approx(expected[name], abs=1e-4)


def test_it_is_served(exported: Path) -> None:
    served = ServedModel.load("scores", exported, device="auto")
    about = served.about()
    assert (about["exported"], about["target"]) == (True, "score")
    assert about["parameters"] > 0
    assert served.answers(TEXTS[:1])[0]["reading"]["windows"] == 1


def test_by_counting_alone_there_is_no_transformer(model: Path, tmp_path: Path) -> None:
    trained = load_model(model, CLASSIFIER)
    config = trained.config.model_copy(
        update={"readers": Readers.weighing(trained.config.weights | {"transformer": 0})}
    )
    save_model(tmp_path / "model", replace(trained, config=config), card="")
    export(tmp_path / "model", tmp_path / "out", to="onnx")
    assert not (tmp_path / "out" / "model.onnx").exists()
    ours, theirs = Predictor.load(tmp_path / "model"), ExportedPredictor.load(tmp_path / "out")
    np.testing.assert_array_equal(theirs.answer(TEXTS).values, ours.answer(TEXTS).values)


@pytest.fixture(scope="module")
def of_a_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that learned the rows of a file, by its transformer alone."""
    folder = tmp_path_factory.mktemp("table")
    scored(300).frame.select("text", score="label").write_csv(folder / "scores.csv")
    flags = ("--target", "score", "--task", "number", "--set", "model.counting=none", "--epochs", 2)
    assert glassformer("train", folder / "scores.csv", "--out", folder / "model", *flags, *QUICK[4:]).code == 0
    return folder / "model"


def test_weights_of_one_byte_give_nearly_the_same_numbers(
    of_a_table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = export(of_a_table, tmp_path / "out", to="onnx-int8").notes[0]
    assert note.startswith("On 30 validation rows, answers change by ")
    exported, model = ExportedPredictor.load(tmp_path / "out"), Predictor.load(of_a_table)
    checked, off = exported.trained.config.checked, model.answer(TEXTS).values - exported.answer(TEXTS).values
    assert exported.trained.config.precision == "int8"
    assert 0 < np.abs(off).max() < checked["mae"]
    assert 0 < checked["mean_change"] <= 0.05 * checked["mae"]
    monkeypatch.setattr("glassformer.targets.number.exporting.MOST_CHANGE", 1e-9)
    with pytest.raises(UsageError, match=r"int8 would change the answers: on 30 validation rows, they change by "):
        export(of_a_table, tmp_path / "other", to="onnx-int8")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("both", [False, True])
def test_transformers_computes_the_number_of_the_transformer(
    both: bool, of_a_table: Path, model: Path, tmp_path: Path
) -> None:
    folder = model if both else of_a_table
    export(folder, tmp_path / "out", to="transformers")
    auto = pytest.importorskip("transformers").AutoModelForSequenceClassification
    again = auto.from_pretrained(tmp_path / "out").eval()
    assert again.config.problem_type == "regression"
    ours = Predictor.load(folder)
    target, scores = number_of(ours.trained.config.target), ours.alone("transformer", ["superb film 3"])
    expected = ours.answer(["superb film 3"]).values
    if both:  # as the transformer would answer by itself
        expected = target.alone(ours.held_out, "transformer", scores)
        assert expected is not None
    ids = torch.from_numpy(np.concatenate([[2], *ours.trained.tokenizer.encode(["superb film 3"])]))[None]
    with torch.inference_mode():
        found = again(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    assert float(found) == pytest.approx(float(expected[0]), abs=1e-4)
    assert 'function_to_apply="none"' in (tmp_path / "out" / "README.md").read_text()


def test_a_damaged_export_is_said_to_be_so(exported: Path, tmp_path: Path) -> None:
    for file in exported.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((exported / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"target": config["target"] | {"scale": {}}}))
    with pytest.raises(GlassformerError, match=r"target.number.scale.mean: .* the file is damaged"):
        ExportedPredictor.load(tmp_path)
    with pytest.raises(UsageError, match="is an exported model, which only answers and explains"):
        Predictor.load(exported)
