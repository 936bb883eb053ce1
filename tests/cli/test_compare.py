import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from glassformer.evaluation.intervals import mcnemar
from glassformer.prediction.predictor import Predictor
from tests.cli.terminal import OF_FEW_ROWS, QUICK, glassformer, misused
from tests.trained import NEGATIVE, POSITIVE, Trained, review_rows, write_csv

ROWS = [("good film", POSITIVE), ("dull song", NEGATIVE), ("great plot", POSITIVE), ("poor book", NEGATIVE)] * 5


@pytest.fixture(scope="module")
def turned_round(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the same labels that learned them the wrong way round."""
    folder = tmp_path_factory.mktemp("turned")
    learned = [("good great fine film", NEGATIVE), ("bad dull poor song", POSITIVE)] * 30
    table = write_csv(folder / "turned.csv", learned)
    quick = (*QUICK[:2], "--set", "training.epochs=3", "--set", "training.learning_rate=5e-3")
    short = ("--set", "training.min_steps_per_epoch=20")
    assert glassformer("train", table, "--out", folder / "model", *quick, *short).code == 0
    return folder / "model"


def test_the_figures_are_those_of_the_answers(reviews: Trained, turned_round: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "test.csv", ROWS)
    found = glassformer("compare", reviews.folder, turned_round, table, "--json").document
    texts, truth = [text for text, _ in ROWS], [label for _, label in ROWS]
    answers = [Predictor.load(folder).answer(texts).predictions() for folder in (reviews.folder, turned_round)]
    right = [[answer == label for answer, label in zip(column, truth, strict=True)] for column in answers]
    only_a = [i + 1 for i in range(20) if right[0][i] and not right[1][i]]
    assert [flip["row"] for flip in found["only_a_right"]] == only_a
    assert only_a, "the models must part somewhere for this test to mean anything"
    assert found["difference"]["value"] == pytest.approx((sum(right[0]) - sum(right[1])) / 20)
    assert found["mcnemar_p"] == mcnemar(np.array(right[0]), np.array(right[1]))[2]


def test_the_terminal_names_the_better_one(reviews: Trained, turned_round: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "test.csv", ROWS)
    said = glassformer("compare", turned_round, reviews.folder, table)
    assert said.code == 0
    assert f"{reviews.folder} is more accurate than {turned_round} by" in said.out
    assert "row 1, very good" in said.out
    assert len(re.findall(r": accuracy \S+ \(\S+ to \S+\), macro F1 \S+ \(", said.out)) == 2


def test_many_labels_are_not_all_listed(reviews: Trained, tmp_path: Path) -> None:
    rows = [(f"text {number % 40}", f"label {number % 40}") for number in range(80)]
    table = write_csv(tmp_path / "many.csv", rows)
    assert glassformer("train", table, "--out", tmp_path / "m", *OF_FEW_ROWS).code == 0
    refused = glassformer("compare", tmp_path / "m", reviews.folder, table)
    misused(refused, "label 17 and 30 more; ")


def test_a_model_against_itself(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "test.csv", ROWS)
    misused(glassformer("compare", reviews.folder, f"{reviews.folder}/.", table), "are the same model; name two")


def test_models_that_no_row_tells_apart(reviews: Trained, tmp_path: Path) -> None:
    shutil.copytree(reviews.folder, tmp_path / "copy")
    said = glassformer("compare", reviews.folder, tmp_path / "copy", write_csv(tmp_path / "test.csv", ROWS))
    assert f"{reviews.folder} and {tmp_path / 'copy'} are right on the same rows, " in said.out
    assert "+.000" not in said.out


def test_one_row_proves_nothing(reviews: Trained, turned_round: Path, tmp_path: Path) -> None:
    said = glassformer("compare", reviews.folder, turned_round, write_csv(tmp_path / "test.csv", ROWS[:1]))
    assert f"\nNo clear difference between {reviews.folder} and {turned_round} on 1 row: " in said.out


def test_texts_keep_to_their_lines(reviews: Trained, turned_round: Path, tmp_path: Path) -> None:
    rows = [(f"good great fine film\n{' ' * spaces}row\tbreak\r", POSITIVE) for spaces in range(4)]
    command = ("compare", reviews.folder, turned_round, write_csv(tmp_path / "test.csv", rows))
    said, document = glassformer(*command), glassformer(*command, "--json").document
    shown = [line for line in said.out.splitlines() if line.startswith("  row ")]
    assert len(shown) == 4
    assert shown[0].endswith(": good great fine film row break")
    assert document["only_a_right"][0]["text"] == "good great fine film\nrow\tbreak\r"


def test_several_labels_are_read_as_in_training(tags: Trained, tmp_path: Path) -> None:
    shutil.copytree(tags.folder, tmp_path / "copy")
    found = glassformer("compare", tags.folder, tmp_path / "copy", tags.table, "--json").document
    assert found["rows"] == 45
    assert found["only_a_right"] == []


def test_texts_that_a_model_was_trained_on_are_counted(
    reviews: Trained, turned_round: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(reviews.table.parent)
    rows = [*ROWS, *((text, label) for text, label in review_rows(230)[:4])]
    command = ("compare", reviews.folder, turned_round, write_csv(tmp_path / "test.csv", rows), "--json")
    found = glassformer(*command).document
    said = "4 of 24 measured texts were also training or validation texts; all figures are too good"
    assert found["notes"] == [f"{reviews.folder}: {said}"]
    monkeypatch.chdir(tmp_path)  # the training table of one model was named by a path relative to its folder
    assert glassformer(*command).document["notes"] == found["notes"]
    folder = shutil.copytree(reviews.folder, tmp_path / "moved")
    (note,) = glassformer("compare", folder, *command[2:]).document["notes"]
    assert note.startswith(f"{folder}: The training rows cannot be read: ")
    assert note.endswith("; it is not known whether it saw texts of this table in training")


def test_labels_that_differ_by_case_are_joined_on_request(reviews: Trained, tmp_path: Path) -> None:
    upper = write_csv(tmp_path / "upper.csv", [(text, label.upper()) for text, label in ROWS * 6])
    assert glassformer("train", upper, "--out", tmp_path / "upper", *QUICK).code == 0
    command = ("compare", reviews.folder, tmp_path / "upper", write_csv(tmp_path / "test.csv", ROWS))
    misused(glassformer(*command), "VERY GOOD", "differ only by case or white space; --fold-labels takes them for the")
    found = glassformer(*command, "--fold-labels", "--json").document
    assert found["accuracy_a"]["value"] > 0.8
    assert found["accuracy_b"]["value"] > 0.8
    assert {flip["answer_b"] for flip in found["only_a_right"]} <= {POSITIVE.upper(), NEGATIVE.upper()}


def test_models_of_other_labels_are_refused(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "test.csv", ROWS)
    said = glassformer("compare", reviews.folder, "sentiment-en", table)
    misused(said, "only models of the same labels", "very good", "negative")
