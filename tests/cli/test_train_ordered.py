"""`train --task ordered` and all that follows; several labels that are found by their separator."""

import json
from pathlib import Path

import pytest

from tests.cli.terminal import OF_FEW_ROWS, glassformer, misused
from tests.trained import Trained, review_rows, write_csv

WORDS = {"bad": "poor dull awful", "fair": "plain usual common", "good": "great fine lovely"}
ORDER = "bad,fair,good"


def graded_rows(count: int) -> list[tuple[str, str]]:
    grades = list(WORDS)
    return [
        (f"{WORDS[grade].split()[number % 3 - 1]} film {number}", grade)
        for number in range(count)
        for grade in [grades[(number * 7) % 3]]
    ]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("graded")
    table = write_csv(folder / "t.csv", graded_rows(60))
    flags = ("--order", ORDER, *OF_FEW_ROWS, "--set", "model.counting=none", "--set", "model.head=ordered")
    outcome = glassformer("train", table, "--out", folder / "model", *flags)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


def test_ordered_classes_run_end_to_end(graded: Trained, tmp_path: Path) -> None:
    assert graded.outcome.code == 0, graded.outcome.err
    assert "their order: bad < fair < good" in graded.outcome.err
    config = json.loads((graded.folder / "config.json").read_text())
    assert config["target"]["labels"] == ["bad", "fair", "good"]
    assert config["model"]["head"] == "ordered"
    found = glassformer("predict", graded.folder, "great film", "--json").document["answers"][0]
    assert sum(found["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    said = glassformer("evaluate", graded.folder, graded.table)
    assert "On average the answer is ." in said.out
    measured = json.loads((graded.folder / "evaluation" / "metrics.json").read_text())
    assert [each["name"] for each in measured["ranks"]][-1] == "the transformer"
    assert "How far off?" in (graded.folder / "evaluation" / "report.html").read_text()
    assert glassformer("explain", graded.folder, "great film").code == 0
    assert "ln(σ(x − θₖ₋₁) − σ(x − θₖ))" in glassformer("trace", graded.folder, "great film").out
    again = ("--init", graded.folder, "--order", "good,fair,bad", "--set", "model.counting=none", "--set")
    said = glassformer("train", graded.table, "--out", tmp_path / "again", *again, "training.max_steps=2")
    assert said.code == 0, said.err


def test_what_does_not_know_ordered_classes_says_so(graded: Trained, tmp_path: Path) -> None:
    flags = ("--format", "transformers", "--out", tmp_path / "hf")
    misused(glassformer("export", graded.folder, *flags), "model.head is 'ordered'")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--task", "ordered"), ["'bad' (row 1) is not a number", "(here by the alphabet): --order bad,fair,good"]),
        (("--order", "bad,good"), ["--order lacks the label 'fair' (row 2); it names ['bad', 'good']"]),
        (("--order", "bad,fair,goood"), ["lacks the label 'good'", "No row has 'goood': did you mean 'good'?"]),
        (("--task", "stars"), ["--task stars: the tasks are classes, several, ordered, number"]),
        (("--task", "several"), ["not clear what separates", "--multilabel '|'"]),
        (("--target", "label", "--label", "label"), ["both name the column"]),
        (("--set", "model.head=ordered"), ["answers with ordered classes", "--order"]),
    ],
)
def test_bad_flags(flags: tuple[str, ...], words: list[str], graded: Trained, tmp_path: Path) -> None:
    misused(glassformer("train", graded.table, "--out", tmp_path / "m", *flags), *words)


def test_by_default_each_class_has_a_score(graded: Trained, tmp_path: Path) -> None:
    flags = ("--order", ORDER, "--preset", "tiny", "--epochs", "0")
    assert glassformer("train", graded.table, "--out", tmp_path / "counting", *flags).code == 0
    config = json.loads((tmp_path / "counting" / "config.json").read_text())
    assert (config["target"]["kind"], config["model"]["head"]) == ("ordered", "classes")
    assert "On average the answer is ." in glassformer("evaluate", tmp_path / "counting", graded.table).out
    assert glassformer("trace", tmp_path / "counting", "great film").code == 0


def test_two_ordered_classes_are_said_to_have_no_middle(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [(text, str(number % 2)) for number, (text, _) in enumerate(review_rows(20))])
    said = glassformer(
        "train", table, "--task", "ordered", "--out", tmp_path / "m", *OF_FEW_ROWS, "--set", "training.epochs=0"
    )
    assert "their order: 0 < 1, which changes nothing" in said.err
    assert "model: without a transformer\n" in said.err
    assert "parameters" not in said.err


def test_several_labels_are_found_by_their_separator(tmp_path: Path) -> None:
    tags = ("pos;film", "film", "pos", "book", "pos;book")
    table = write_csv(tmp_path / "t.csv", [(f"text {n} of {tags[n % 5]}", tags[n % 5]) for n in range(30)])
    said = glassformer("train", table, "--out", tmp_path / "m", *OF_FEW_ROWS, "--set", "training.epochs=0")
    assert "task: several labels per text (column 'label' holds them with ';' in between)" in said.err
    assert "--task classes takes each cell as one class" in said.err
    assert json.loads((tmp_path / "m" / "config.json").read_text())["target"]["kind"] == "several"
    assert glassformer("evaluate", tmp_path / "m", table).code == 0
