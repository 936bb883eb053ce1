"""Readers of other packages: the example of the docs goes through all that a built-in reader goes through."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from glassformer import TextClassifier
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.readers.reader import checked, installed
from glassformer.serving.api import create_app
from glassformer.serving.served_model import ServedModel
from glassformer.targets.labels.target import labels_of
from tests.cli.terminal import glassformer, misused
from tests.trained import write_csv

EXAMPLE = Path(__file__).parents[2] / "examples" / "character_lstm"
NAME, MOST_LINES = "character-lstm", 80
QUICK = (
    "--preset", "tiny", "--set", "model.d_model=16", "--epochs", "1", "--set", "training.min_steps_per_epoch=5",
    "--set", f'model.readers=["{NAME}"]', "--device", "cpu",
)  # fmt: skip
HOLDING_OUT = ("--set", "validation.min_rows=10", "--set", "validation.fraction=0.25")
"""The reader is fitted twice; without held-out rows, it is fitted five times."""


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The example as `pip install` leaves it."""
    place = tmp_path_factory.mktemp("packages")
    shutil.copy(EXAMPLE / "character_lstm.py", place)
    about = place / "character_lstm-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: character-lstm\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(f"[glassformer.readers]\n{NAME} = character_lstm:CharacterLstm\n")
    sys.path.insert(0, str(place))
    yield place
    sys.path.remove(str(place))
    sys.modules.pop("character_lstm", None)


def code(first: str, second: str, filler: str = "xyzzyx") -> str:
    return f"{filler}{first}{filler}{second}{filler} code"


def codes(count: int) -> list[tuple[str, str]]:
    """Codes whose label is the order of two letters far apart, which no n-gram says."""
    draw = np.random.default_rng(0)
    fillers = ["".join(draw.choice(list("xyz"), draw.integers(5, 7))) for _ in range(count)]
    return [
        (code("a", "b", filler) if up else code("b", "a", filler), "rising" if up else "falling")
        for up, filler in zip(draw.integers(2, size=count), fillers, strict=True)
    ]


RISING, FALLING = code("a", "b"), code("b", "a")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    write_csv(place / "codes.csv", codes(110))
    outcome = glassformer("train", place / "codes.csv", "--out", place / "model", *QUICK)
    assert outcome.code == 0, outcome.err
    assert f"fitting the {NAME} reader to all 110 rows" in outcome.err
    assert f", {NAME} alone " in outcome.err
    return place / "model"


def test_the_example_is_short_and_its_entry_point_is_the_one_of_its_package() -> None:
    assert len((EXAMPLE / "character_lstm.py").read_text().splitlines()) <= MOST_LINES
    assert f'{NAME} = "character_lstm:CharacterLstm"' in (EXAMPLE / "pyproject.toml").read_text()


def test_it_is_weighed_and_kept_in_the_model_folder(model: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    assert config["readers"][NAME]["weight"] > 0
    assert (model / "readers" / NAME / "lstm.safetensors").is_file()
    assert f"and of the reader `{NAME}`, times " in (model / "README.md").read_text()
    trained = load_model(model, CLASSIFIER)
    again = Predictor(trained).scores([RISING, FALLING])[NAME]
    assert (
        again.argmax(axis=1)
        == [
            labels_of(trained.config.target).labels.index("rising"),
            labels_of(trained.config.target).labels.index("falling"),
        ]
    ).all()


def test_every_command_takes_it(model: Path, tmp_path: Path) -> None:
    write_csv(tmp_path / "new.csv", codes(60)[30:])
    evaluated = glassformer("evaluate", model, tmp_path / "new.csv", "--json")
    assert evaluated.code == 0, evaluated.err
    found = evaluated.document
    assert found["duel"]["model"]["metrics"]["accuracy"]["value"] > 0.9
    assert f"{NAME} alone" in [each["name"] for each in found["duel"]["readers"]]
    (answer,) = glassformer("predict", model, RISING, "--json").document["answers"]
    assert answer["prediction"] == "rising"
    explained = glassformer("explain", model, RISING, "--json").document
    predictor = Predictor(load_model(model, CLASSIFIER))
    whole, without = predictor.reader_logits([RISING, RISING.removesuffix("code")])[NAME]
    lost = float((whole - without) @ ([-1, 1] if explained["label"] == "rising" else [1, -1]))
    assert explained["words"][1][NAME] == pytest.approx(
        lost / labels_of(predictor.trained.config.target).temperature, rel=1e-4
    )
    refused = glassformer("export", model, "--format", "web", "--out", tmp_path / "web")
    misused(refused, f"this model also asks '{NAME}', which no browser runs")
    alone = glassformer("export", model, "--format", "transformers", "--out", tmp_path / "alone")
    weights = json.loads((model / "config.json").read_text())["readers"]
    if weights["transformer"]["weight"]:
        assert f"{NAME} reader" in alone.out
        assert "left out" in alone.out
    else:
        misused(alone, f"{NAME} alone, and transformers has no such reader")
    exported = glassformer("export", model, "--format", "onnx", "--out", tmp_path / "onnx")
    assert exported.code == 0, exported.err
    (same,) = glassformer("predict", tmp_path / "onnx", RISING, "--json").document["answers"]
    assert same["prediction"] == "rising"


def test_the_server_answers_and_explains_with_it(model: Path) -> None:
    client = TestClient(create_app({"codes": ServedModel.load("codes", model, device="cpu")}))
    answers = client.post("/predict", json={"texts": [RISING]}).json()["answers"]
    assert answers[0]["prediction"] == "rising"
    assert client.post("/explain", json={"text": RISING}).status_code == 200


def test_a_reader_that_does_not_help_is_not_stored(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    rows = [(f"a {word} film {draw.integers(99)}", word) for word in draw.choice(["good", "bad"], 60)]
    write_csv(tmp_path / "easy.csv", rows)
    outcome = glassformer("train", tmp_path / "easy.csv", "--out", tmp_path / "model", *QUICK, *HOLDING_OUT)
    assert outcome.code == 0, outcome.err
    assert json.loads((tmp_path / "model" / "config.json").read_text())["readers"][NAME]["weight"] == 0
    assert [path.name for path in (tmp_path / "model" / "readers").iterdir()] == ["body"]


def test_it_learns_a_number_too(tmp_path: Path) -> None:
    rows = [(text, str(3.0 + (label == "rising"))) for text, label in codes(150)]
    write_csv(tmp_path / "codes.csv", rows, header=("text", "score"))
    outcome = glassformer(
        "train", tmp_path / "codes.csv", "--target", "score", "--out", tmp_path / "model", *QUICK, *HOLDING_OUT
    )
    assert outcome.code == 0, outcome.err
    answers = glassformer("predict", tmp_path / "model", RISING, FALLING, "--json").document
    high, low = (answer["prediction"] for answer in answers["answers"])
    assert high > low + 0.5


def test_it_answers_and_says_why_in_python() -> None:
    texts, labels = zip(*codes(110), strict=True)
    settings = {"model.readers": [NAME], "validation.min_rows": 10, "validation.fraction": 0.25}
    fitted = TextClassifier("tiny", epochs=0, settings=settings, device="cpu").fit(texts, labels)
    assert list(fitted.predict([RISING, FALLING])) == ["rising", "falling"]
    assert (fitted.reader_margins([RISING, FALLING])[NAME] > 0).all()
    assert any(word.shares[NAME] for word in fitted.explain(RISING).words)


def test_a_model_without_the_package_is_refused_in_a_sentence(
    model: Path, monkeypatch: pytest.MonkeyPatch, package: Path
) -> None:
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(package)])
    outcome = glassformer("predict", model, "text")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"no installed package has a reader '{NAME}'" in outcome.err


def test_what_is_no_reader_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "odd-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[glassformer.readers]\ngone = nowhere:Reader\nodd = json:loads\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match="cannot be imported"):
        installed("gone")
    with pytest.raises(UsageError, match="no subclass"):
        installed("odd")
    with pytest.raises(UsageError, match="gone, odd"):
        installed("other")


@pytest.mark.parametrize(("scores", "message"), [
    (np.zeros((2, 3)), r"shape \(2, 3\) where \(2, 2\)"), (np.array([[0, np.nan], [0, 0]]), "NaN"),
])  # fmt: skip
def test_odd_scores_are_refused(scores: Any, message: str) -> None:
    with pytest.raises(GlassformerError, match=message):
        checked("odd", scores, (2, 2))
