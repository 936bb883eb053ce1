"""Rows that belong together (`--group`), from training to feedback that is learned later."""

import json
import random
import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from glassformer.data.splits import Splits
from glassformer.evaluation.seen_rows import seen_rows
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.serving.api import create_app
from glassformer.serving.feedback import FeedbackFile
from glassformer.serving.served_model import load_models
from tests.cli.terminal import OF_FEW_ROWS, glassformer, misused
from tests.trained import write_csv

FAST = (*OF_FEW_ROWS, "--set", "training.epochs=0", "--set", "model.body=none")
COLUMNS = ("text", "label", "customer")


def rows(count: int, customers: range, *, seed: int = 0) -> list[tuple[str, str, str]]:
    draw, found = random.Random(seed), []
    for number in range(count):
        label, word = draw.choice([("good", "fine"), ("bad", "slow")])
        text = f"{word} {draw.choice(['card', 'loan', 'branch', 'teller'])} {seed} {number}"
        found.append((text, label, f"customer {draw.choice(customers)}"))
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bank")
    table = write_csv(folder / "train.csv", rows(120, range(30)), COLUMNS)
    said = glassformer("train", table, "--group", "customer", "--out", folder / "model", *FAST)
    assert said.code == 0, said.err
    return folder / "model"


def splits(folder: Path) -> Splits:
    found = seen_rows(load_model(folder, CLASSIFIER).config, None)
    assert isinstance(found, Splits)
    return found


def test_kept_feedback_is_learned_by_a_model_of_groups(model: Path, tmp_path: Path) -> None:
    kept, before = tmp_path / "kept.jsonl", splits(model)
    assert before.validation is not None
    held_out = before.validation.frame["group"][0]
    with TestClient(create_app(load_models([model], device="cpu"), feedback=FeedbackFile(kept))) as client:
        for number, about in enumerate([{}, {"group": held_out}, {"group": "somebody new"}]):
            body = {"text": f"a slow app {number}", "label": "bad", **about}
            assert client.post("/feedback", json=body).json() == {"status": "kept"}
    assert json.loads(kept.read_text().splitlines()[1])["customer"] == held_out
    said = glassformer("train", "--init", model, "--add", kept, "--out", tmp_path / "more")
    assert said.code == 0, said.err
    after = splits(tmp_path / "more")
    assert after.validation is not None
    assert after.validation.frame.height == before.validation.frame.height + 1
    assert after.validation.frame.filter(text="a slow app 1")["group"].to_list() == [held_out]
    assert after.train.frame["group"].to_list()[-2:] == [" a slow app 0", "somebody new"]


def test_evaluate_and_compare_take_a_column_of_another_name(model: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "test.csv", rows(40, range(20, 40), seed=2), ("text", "label", "Kunde"))
    plain = glassformer("evaluate", model, table, "--out", tmp_path / "a")
    assert "without the groups of training (column 'customer')" in plain.err
    copy = shutil.copytree(model, tmp_path / "copy")
    named = glassformer("evaluate", model, table, "--group", "Kunde", "--out", tmp_path / "b")
    assert "without the groups" not in named.err
    assert "measured rows have a group that was in training" in named.err
    assert glassformer("compare", model, copy, table, "--group", "Kunde").code == 0
    misused(glassformer("evaluate", model, table, "--group", "kunde"), "no column 'kunde' (--group)", "Did you mean")
    misused(glassformer("evaluate", model, table, "--group", "label"), "Column 'label' cannot be both", "--group")


def test_a_table_without_the_column_is_added_too(model: Path, tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "plain.csv", [row[:2] for row in rows(20, range(30), seed=1)], COLUMNS[:2])
    said = glassformer("train", "--init", model, "--add", plain, "--out", tmp_path / "more")
    assert said.code == 0, said.err
    said_of_it = (
        "plain.csv: without the column 'customer', its rows may be of held-out groups, so figures may be too good"
    )
    assert f"{said_of_it}\n" in said.err
    assert "independent" not in said.err
    assert splits(tmp_path / "more").train.frame["group"].str.starts_with(" ").sum() == 18
