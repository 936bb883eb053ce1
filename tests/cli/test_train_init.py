import json
import shutil
from pathlib import Path

import pytest

from tests.checkpoints import write_checkpoint
from tests.cli.terminal import glassformer, misused
from tests.trained import NEGATIVE, POSITIVE, Trained, review_rows, write_csv

FEW = ("--set", "training.epochs=1", "--set", "training.min_steps_per_epoch=3")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    write_checkpoint(folder, "modernbert", "ForMaskedLM")
    return folder


def test_from_a_checkpoint_to_answers_and_figures(checkpoint: Path, tmp_path: Path) -> None:
    rows = review_rows(60)
    rows[0] = ("very " * 200 + rows[0][0], rows[0][1])  # longer than the window
    table, folder = write_csv(tmp_path / "t.csv", rows), tmp_path / "m"
    said = glassformer("train", table, "--init", f"hf:{checkpoint}", "--out", folder, *FEW)
    assert said.code == 0, said.err
    assert f"weights: hf:{checkpoint}, with a new head for these labels" in said.err
    assert "5 blocks of width 24, 3 of them local" in said.err
    config = json.loads((folder / "config.json").read_text())
    assert config["init"]["from"] == f"hf:{checkpoint}"
    assert config["recipe"]["training"]["optimizer"] == "adamw"
    assert f"Fine-tuned from `hf:{checkpoint}` on 60 rows" in (folder / "README.md").read_text()
    answer = glassformer("predict", folder, "good film", "--json").document
    assert answer["answers"][0]["probabilities"].keys() == {POSITIVE, NEGATIVE}
    assert glassformer("evaluate", folder, table).code == 0
    shutil.copytree(folder, tmp_path / "copy")
    assert glassformer("compare", folder, tmp_path / "copy", table).code == 0


def test_from_a_model_folder(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", review_rows(40))
    folder = shutil.copytree(reviews.folder, tmp_path / "a[b]")
    said = glassformer("train", table, "--init", folder, "--out", tmp_path / "m", *FEW)
    assert said.code == 0, said.err
    assert f"weights: {folder}, the head too" in said.err
    assert (tmp_path / "m/tokenizer.json").read_text() == (reviews.folder / "tokenizer.json").read_text()


def test_mistakes(reviews: Trained, checkpoint: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "m")
    misused(glassformer("train", reviews.table, "--init", tmp_path / "none", *out), "no such model folder", "hf:")
    misused(glassformer("train", reviews.table, "--init", f"hf:{tmp_path}", *out), "no config.json")
    misused(
        glassformer("train", reviews.table, "--init", reviews.folder, "--preset", "base", *out),
        "preset 'base'", str(reviews.folder),
    )  # fmt: skip
    misused(
        glassformer("train", reviews.table, "--init", f"hf:{checkpoint}", "--set", "training.freeze=9", *out),
        "training.freeze = 9", "5 blocks",
    )  # fmt: skip
    assert not (tmp_path / "m" / "checkpoint").exists()
