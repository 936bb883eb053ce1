"""Labels that a model doubts: what `train` says about them, and the report of `evaluate`."""

import html
import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import glassformer
from tests.trained import NEGATIVE, POSITIVE, Trained, review_rows, write_csv

WRONG = {8, 21, 50}
COUNT = ("--preset", "tiny", "--epochs", 0, "--set", "model.body=none")
OTHER = {POSITIVE: NEGATIVE, NEGATIVE: POSITIVE}
FLAGS = ("--text", "words", "--label", "my stars")


@pytest.fixture(scope="module")
def doubting(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A model that has met a few wrong labels in a table of 240 rows."""
    folder = tmp_path_factory.mktemp("doubting")
    rows = [
        (text, OTHER[label] if row in WRONG else label) for row, (text, label) in enumerate(review_rows(240), start=1)
    ]
    table = write_csv(folder / "re views.csv", rows, FLAGS[1::2])
    outcome = glassformer("train", table, "--out", folder / "model", *FLAGS, *COUNT)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


@pytest.fixture
def measured_table(tmp_path: Path) -> Path:
    rows = [(f"{text} more", label) for text, label in review_rows(40)]
    return write_csv(tmp_path / "test.csv", [*rows[:36], *((text, OTHER[label]) for text, label in rows[36:])])


def command_of(doubting: Trained) -> str:
    return f"glassformer labels {shlex.quote(str(doubting.table))} --text words --label 'my stars'"


def test_train_names_rows_and_the_command_that_checks_all(doubting: Trained, tmp_path: Path) -> None:
    (said,) = (line for line in doubting.outcome.err.splitlines() if line.startswith("labels: "))
    assert " of 240 rows have a label that the model doubts (rows " in said
    command, alone = command_of(doubting), "which checks them without a transformer, so it may list other rows"
    assert said.endswith(f". To correct labels: `{command}`, {alone}")
    checked = glassformer(*shlex.split(command_of(doubting))[1:], "--out", tmp_path / "check.csv")
    assert checked.code == 0


def test_train_names_its_report_which_advises_by_flags(doubting: Trained) -> None:
    page = doubting.folder / "report.html"
    assert f"report: {page} (the figures, and what to do next)\n" in doubting.outcome.err
    written = html.unescape(page.read_text(encoding="utf-8"))
    assert f"To check the whole table by counting alone, run <code>{command_of(doubting)}" in written
    assert "The command checks them without a transformer, so it may list other rows." in written
    assert "glassformer train " in written
    assert json.loads((doubting.folder / "metrics.json").read_text())["next_steps"][1]["command"] == command_of(
        doubting
    )


def test_nothing_is_said_in_quiet_or_without_doubts(doubting: Trained, reviews: Trained, tmp_path: Path) -> None:
    quiet = glassformer("train", doubting.table, "--out", tmp_path / "m", *FLAGS, *COUNT, "--quiet")
    assert quiet.err == ""
    assert json.loads((reviews.folder / "metrics.json").read_text())["label_doubts"]["doubtful"] == 0
    assert "labels: " not in reviews.outcome.err.replace("2 labels: ", "")


def test_the_report_lists_the_labels_to_check(doubting: Trained, measured_table: Path, tmp_path: Path) -> None:
    out = tmp_path / "e"
    read = ("--text", "text", "--label", "label")
    found = glassformer("evaluate", doubting.folder, measured_table, *read, "--out", out, "--json").document
    doubts = found["label_doubts"]
    assert (doubts["source"], doubts["rows"], doubts["command"]) == (
        str(doubting.table), 240, command_of(doubting)
    )  # fmt: skip
    texts = [text for text, _ in review_rows(240)]
    assert {each["row"] for each in doubts["listed"][:3]} == WRONG
    assert all(each["text"] == texts[each["row"] - 1] for each in doubts["listed"])
    page = (out / "report.html").read_text(encoding="utf-8")
    section = page.partition('<section id="labels">')[2].partition("</section>")[0]
    assert "<h2>Labels to check</h2>" in section
    assert "row 21 · label <s>very good</s>" in section or "row 21 · label <s>not, good</s>" in section
    assert texts[20] in section
    steps = {step["section"]: step for step in found["next_steps"]}
    assert steps["labels"]["command"] == command_of(doubting)
    assert f'<li>{steps["labels"]["text"]} <a href="#labels">Details</a>' in page.partition('id="next"')[2]


@pytest.mark.usefixtures("unsealed")
def test_without_its_training_table_the_rows_are_listed_without_texts(
    doubting: Trained, measured_table: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(doubting.folder, tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text())
    config["data"]["read_as"]["train"] = config["data"]["source"] = "gone.csv"
    (folder / "config.json").write_text(json.dumps(config))
    read = ("--text", "text", "--label", "label", "--json")
    found = glassformer("evaluate", folder, measured_table, *read).document["label_doubts"]
    assert found["listed"]
    assert {each["text"] for each in found["listed"]} == {None}


@pytest.mark.usefixtures("unsealed")
def test_a_folder_of_an_older_version_is_measured(doubting: Trained, measured_table: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(doubting.folder, tmp_path / "model"))
    metrics = json.loads((folder / "metrics.json").read_text())
    del metrics["label_doubts"]
    (folder / "metrics.json").write_text(json.dumps(metrics))
    said = glassformer("evaluate", folder, measured_table, "--text", "text", "--label", "label", "--json")
    assert said.code == 0
    assert said.document["label_doubts"] is None
    assert "labels" not in {step["section"] for step in said.document["next_steps"]}
    assert 'id="labels"' not in (folder / "evaluation" / "report.html").read_text(encoding="utf-8")
