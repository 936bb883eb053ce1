import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.terminal import Outcome, ctrl_c, glassformer, misused
from tests.trained import review_rows, write_csv

RECIPE = """
[validation]
min_rows = 100
[tokenizer]
min_frequency = 1
[model]
preset = "tiny"
d_model = 16
n_heads = 2
d_ff = 24
max_seq_len = 16
[training]
epochs = 2
min_steps_per_epoch = 2
[pretraining]
batch_size = 4
min_steps_per_epoch = 4
"""
ROWS = review_rows(240)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "t.csv", ROWS)


def train(table: Path, out: Path, *flags: object) -> Outcome:
    recipe = out.parent / "small.toml"
    recipe.write_text(RECIPE.partition("[pretraining]")[0] if "--minutes" in flags else RECIPE)
    return glassformer("train", table, "--out", out, "--recipe", recipe, "--device", "cpu", *flags)


def config_of(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "config.json").read_text()))


def test_one_command_from_texts_to_a_classifier(table: Path, tmp_path: Path) -> None:
    test = write_csv(tmp_path / "test.csv", review_rows(30))
    (tmp_path / "more.txt").write_text("\n\n".join(f"a new remark {number}" for number in range(50)))
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, (text, _) in enumerate(review_rows(250)[225:]):
        (folder / f"{number}.txt").write_text(text)
    write_csv(
        tmp_path / "more.csv", [(text,) for text, _ in review_rows(20)] + [("a remark of another kind",)], ("text",)
    )
    sources = [flag for name in ("more.txt", "texts", "more.csv") for flag in ("--unlabelled", tmp_path / name)]
    said = train(table, tmp_path / "m", "--test", test, "--pretrain", "1s", *sources)
    assert said.code == 0, said.err
    record = config_of(tmp_path / "m")["data"]["pretraining"]
    assert record["unlabelled"] == [str(tmp_path / name) for name in ("more.txt", "texts", "more.csv")]
    assert record["left_out"].keys() <= {"test", "validation", "training"}
    assert record["left_out"]["test"] == 20
    new = record["unlabelled_texts"]
    assert 61 <= new <= 76  # 50, 1, and of 25 those that are not among the table's 240
    assert 1 <= record["seconds"] < 10
    lines = said.err.splitlines()
    first = f"stage 1 of 2: pre-training on {189 + new} texts ({new} without labels) for 1 second"
    stages = [line for line in lines if line.startswith("stage ")]
    assert stages == [first, "stage 2 of 2: training on 189 rows"]
    assert "20 unlabelled texts are also test texts and were left out" in lines
    assert lines.index(first) > next(number for number, line in enumerate(lines) if line.startswith("model: "))
    assert glassformer("predict", tmp_path / "m", "good film").code == 0
    assert glassformer("evaluate", tmp_path / "m", test).code == 0


def test_json_says_it_too(table: Path, tmp_path: Path) -> None:
    document = train(table, tmp_path / "m", "--set", "pretraining.max_steps=3", "--json").document
    assert document["data"]["pretraining"]["texts"] == 216
    assert document["data"]["pretraining"]["unlabelled_texts"] == 0


@pytest.mark.parametrize("stop_at", [2, 7], ids=["stage 1", "stage 2"])
def test_ctrl_c_in_either_stage_and_resume(stop_at: int, table: Path, tmp_path: Path) -> None:
    flags = ("--set", "pretraining.max_steps=6")
    assert train(table, tmp_path / "whole", *flags).code == 0
    out = tmp_path / "my model"
    with ctrl_c(stop_at):
        said = train(table, out, *flags)
    assert said.code == 130
    assert "stopped; the run is saved in" in said.err
    misused(train(table, out, *flags), "unfinished run", "--resume")
    misused(
        train(table, out, "--set", "pretraining.max_steps=7", "--resume"), "pretraining.max_steps was 6 and is now 7"
    )
    resumed = train(table, out, *flags, "--resume")
    assert resumed.code == 0, resumed.err
    assert ("pre-training is over" in resumed.err) == (stop_at == 7)
    assert "resumed at step" in resumed.err
    for name in ("model.safetensors", "tokenizer.json"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert {path.name for path in out.iterdir()} == {path.name for path in (tmp_path / "whole").iterdir()}


def test_the_unlabelled_texts_of_a_known_data_set(table: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "imdb").mkdir(parents=True)
    texts = [text for text, _ in ROWS[:30]] + [f"a film {number}" for number in range(9)]
    pl.DataFrame({"text": texts, "label": [-1] * 39}).write_parquet(tmp_path / "data" / "imdb" / "unsup.parquet")
    flags = ("--unlabelled", "imdb", "--data-dir", tmp_path / "data", "--set", "pretraining.max_steps=2")
    said = train(table, tmp_path / "m", *flags)
    assert said.code == 0, said.err
    record = config_of(tmp_path / "m")["data"]["pretraining"]
    assert (record["unlabelled"], record["unlabelled_texts"]) == (["imdb"], 9)


def test_the_time_is_said_once(table: Path, tmp_path: Path) -> None:
    said = train(table, tmp_path / "m", "--pretrain", "1m", "--set", "pretraining.max_seconds=3")
    misused(said, "--pretrain and --set pretraining.max_seconds", "leave one out")


def test_minutes_are_spent_and_said(table: Path, tmp_path: Path) -> None:
    said = train(table, tmp_path / "m", "--minutes", "0.0001", "--json")
    assert said.code == 0, said.err
    (line,) = [line for line in said.err.splitlines() if line.startswith("time: ")]
    assert line.startswith("time: 0.0001 minutes. Counting and the body took ")
    assert "the model will answer by counting and the body alone. With " in line
    assert said.document["time_plan"]["settings"] == {"training.epochs": 0}
    assert config_of(tmp_path / "m")["recipe"]["training"]["epochs"] == 0
    said = train(table, tmp_path / "n", "--minutes", "100", "--epochs", "1", "--json")
    assert said.document["time_plan"]["settings"] == {}
    assert "1 epoch of the transformer takes about " in said.err
    flags = ("--minutes", 100, "--init", tmp_path / "n", "--epochs", 1, "--set", "training.min_steps_per_epoch=2")
    started = glassformer("train", table, "--out", tmp_path / "o", *flags)
    assert started.code == 0, started.err
    assert "more time would change nothing" in started.err
