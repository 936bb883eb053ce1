import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.checksums import replace_file
from glassformer.prediction.change_costs import change_costs
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.training_card import in_short
from tests.cli.terminal import glassformer, misused
from tests.trained import NEGATIVE, POSITIVE, Trained, write_csv

UNSURE = "zzz"
"""Its answer is the most probable label of the training rows."""


@pytest.fixture
def model(reviews: Trained, tmp_path: Path) -> Path:
    return shutil.copytree(reviews.folder, tmp_path / "model")


def answer(folder: Path, text: str = UNSURE) -> Any:
    return glassformer("predict", folder, text, "--json").document["answers"][0]


def other(label: str) -> str:
    return POSITIVE if label == NEGATIVE else NEGATIVE


def test_costs_turn_an_answer_and_not_its_probabilities_without_training(model: Path) -> None:
    before = answer(model)
    wanted = other(before["prediction"])
    said = glassformer("costs", model, f"{wanted}=1000", "review=1e-6")
    assert wanted in said.out
    assert said.err.endswith(f"next: glassformer evaluate {model} TEST_TABLE\n")
    after = answer(model)
    assert after["prediction"] == wanted
    assert after["probabilities"] == before["probabilities"]
    assert after["confidence"] == after["probabilities"][wanted]
    assert (after["needs_review"], "needs_review" in before) == (True, False)
    assert glassformer("verify", model).code == 0
    assert "least expected cost: a missed" in glassformer("predict", model, UNSURE).err
    shown = glassformer("costs", model, "--json").document["costs"]
    assert shown[0] == {"truth": wanted, "answer": None, "cost": 1000.0}
    glassformer("costs", model, "--remove")
    assert answer(model) == before
    assert glassformer("costs", model).out.endswith(
        "every wrong answer costs 1, so the answers are the most probable labels\n"
    )


def test_held_out_rows_judge_the_answers_of_other_costs(model: Path) -> None:
    before = glassformer("predict", model, UNSURE, "--automatic", "0.9").err
    glassformer("costs", model, f"{POSITIVE}=1000")
    after = glassformer("predict", model, UNSURE, "--automatic", "0.9").err
    assert "held-out rows" in after
    assert after.splitlines()[-1] != before.splitlines()[-1]
    glassformer("costs", model, "--remove")
    assert glassformer("predict", model, UNSURE, "--automatic", "0.9").err == before
    replace_file(model, "metrics.json", re.sub(r',\s*"kept": \{[^}]*\}', "", (model / "metrics.json").read_text()))
    glassformer("costs", model, f"{POSITIVE}=3")
    misused(
        glassformer("predict", model, UNSURE, "--automatic", "0.9"),
        "under other costs",
        "which had none: go back to those",
    )


def test_an_export_changes_its_costs_too_and_answers_as_the_model(model: Path, tmp_path: Path) -> None:
    wanted = other(answer(model)["prediction"])
    glassformer("costs", model, f"{wanted}=1000")
    glassformer("export", model, "--format", "onnx", "--out", tmp_path / "onnx")
    assert answer(tmp_path / "onnx")["prediction"] == wanted
    glassformer("costs", tmp_path / "onnx", "--remove")
    assert answer(tmp_path / "onnx")["prediction"] == other(wanted)
    assert glassformer("verify", tmp_path / "onnx").code == 0


def test_the_accuracy_that_train_says_is_that_without_costs(model: Path) -> None:
    assert "without your costs" not in in_short(Predictor.load(model).trained)
    change_costs(model, {POSITIVE: 3})
    assert "without your costs, by the most probable labels" in in_short(Predictor.load(model).trained)


def test_the_report_measures_what_a_row_costs(model: Path, reviews: Trained) -> None:
    glassformer("costs", model, f"{NEGATIVE}=20")
    said = glassformer("evaluate", model, reviews.table, "--train", reviews.table)
    assert re.search(r"mean cost \.\d{3} \(.*\); without your costs \.\d{3} \(", said.out)
    found = json.loads((model / "evaluation/metrics.json").read_text())["costs"]
    names = [each["name"] for each in found["others"]]
    assert names[0] == "the most probable answers"
    assert "TF-IDF + logistic regression, by cost" in names
    page = (model / "evaluation/report.html").read_text()
    assert "A missed not, good costs 20. Other mistakes cost 1." in page


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (["goood=3"], "error: goood=3: there is no label 'goood'; there are"),
        ([f"{POSITIVE}=-3"], f"error: {POSITIVE}=-3: the cost '-3' is no number from 0 on"),
        ([f"{POSITIVE}=1", f"{POSITIVE}=2"], "there is another cost for"),
        (["no.csv"], "No such file"),
        (["--", "-1=10"], "there is no label '-1'"),
        (["--remove", f"{POSITIVE}=1"], "--remove leaves no costs"),
    ],
)
def test_costs_that_cannot_be_change_nothing(model: Path, costs: list[str], said: str) -> None:
    before = (model / "config.json").read_bytes()
    misused(glassformer("costs", model, *costs), said)
    assert (model / "config.json").read_bytes() == before


def test_a_model_that_comes_with_the_package_is_not_changed() -> None:
    misused(glassformer("costs", "sentiment-en", "positive=2"), "comes with glassformer, and nothing is written there")


def test_train_names_the_row_of_an_unknown_label_before_it_trains(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "costs.csv", [(POSITIVE, "", "2"), ("odd", "", "3")], ("truth", "answer", "cost"))
    begun = ("train", reviews.table, "--out", tmp_path / "m", "--costs")
    misused(glassformer(*begun, table), "costs.csv, row 2: there is no label 'odd'")
    misused(glassformer(*begun, f"{POSITIVE}=nan"), "is no number from 0 on")
    assert not (tmp_path / "m" / "config.json").exists()
