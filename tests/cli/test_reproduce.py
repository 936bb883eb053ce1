import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glassformer.data import polarity
from glassformer.data.sources import Sources
from glassformer.experiments.published import system_run as runs
from glassformer.experiments.published import systems
from glassformer.experiments.published.systems import SystemVariant, TableEntry
from glassformer.prediction.model_folder import TrainedModel
from glassformer.training.recipe import Recipe
from glassformer.training.run import train_model
from tests.cli.terminal import glassformer, misused

STEPS = {"training.max_steps": 2}
POLARITY = TableEntry(
    system="vinh-mlp",
    data="polarity",
    reported=".99, one run",
    variants={
        "literal": SystemVariant(recipe="vinh-mlp", seeds=2, overrides=STEPS),
        "default": SystemVariant(recipe="quick", seeds=1, overrides=STEPS | {"model.counting": "none"}),
    },
)
WHOLE = replace(POLARITY, system="notes-decoder", quick_in_full=True)
ZHOU = TableEntry(system="bui-dang-rows", data="zhou", reported="", variants=dict(POLARITY.variants))


def short(sources: Sources, recipe: Recipe, **more: Any) -> TrainedModel:
    """A run of two steps, whatever the recipe says."""
    return train_model(
        sources, recipe.model_copy(update={"training": recipe.training.model_copy(update={"max_steps": 2})}), **more
    )


@pytest.fixture(autouse=True)
def two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that can be run on a few rows, and one whose data is not on this machine."""
    for split, rows in (("train", 300), ("test", 50)):
        monkeypatch.setitem(polarity.N_ROWS, split, rows)
    monkeypatch.setattr(systems, "ENTRIES", (POLARITY, ZHOU))
    monkeypatch.setattr(systems, "SYSTEMS", ("vinh-mlp", "bui-dang-rows"))


def test_the_table_is_printed_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    said = glassformer("reproduce", "--out", tmp_path)
    assert said.code == 0
    headings, line = said.out.strip().splitlines()[:2]
    assert headings.split("  ")[0] == "system"
    assert line.startswith("vinh-mlp  polarity  .99, one run  .")
    assert "(2 seeds)" in line
    assert "literal, seed 1: accuracy" in said.err
    assert "left out: zhou is not on this machine: glassformer data get zhou" in said.err
    again = glassformer("reproduce", "vinh-mlp", "--out", tmp_path, "--json")
    assert again.document["lines"] == json.loads((tmp_path / "results.json").read_text())["lines"]
    assert "left out" not in again.err


def test_a_first_look_says_that_it_proves_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "_QUICK_STEPS", 2)
    said = glassformer("reproduce", "vinh-mlp", "--quick", "--out", tmp_path)
    assert said.code == 0
    assert "a first look only" in said.err
    assert "seeds)" not in said.out


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ((POLARITY,), "few seeds, 400 steps per run;"),
        ((WHOLE,), "few seeds, each run in full;"),
        ((POLARITY, WHOLE), "few seeds, 400 steps per run except for full runs of notes-decoder;"),
    ],
)
def test_a_first_look_says_what_it_cuts(
    entries: tuple[TableEntry, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = [
        replace(entry, variants={"default": replace(entry.variants["default"], overrides={"model.counting": "none"})})
        for entry in entries
    ]
    monkeypatch.setattr(systems, "ENTRIES", ours)
    monkeypatch.setattr(systems, "_QUICK_STEPS", 2)
    monkeypatch.setattr(runs, "train_model", short)
    said = glassformer("reproduce", "--quick", "--out", tmp_path)
    assert said.code == 0, said.err
    assert said.err.startswith(f"a first look: {words.removesuffix(';').replace('400', '2')}\n")
    assert f"a first look only: {words.replace('400', '2')} for figures that you can rely on" in said.err


def test_misuse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    misused(glassformer("reproduce", "vinh-mlp", "--out", tmp_path / "file"), "file is a file; name a folder")
    idle = glassformer("reproduce", "vinh-mlp", "--init", "hf:nix", "--out", tmp_path)
    misused(idle, "--init: vinh-mlp starts from no weights")
    vague = glassformer("reproduce", "vinh", "--out", tmp_path)
    misused(vague, "choose from vinh-mlp, bui-dang-rows. Did you mean 'vinh-mlp'?")
    elsewhere = glassformer("reproduce", "vinh-mlp", "--data", "zhou", "--out", tmp_path)
    misused(elsewhere, "--data zhou: vinh-mlp does not run on it")
    misused(glassformer("reproduce", "bui-dang-rows", "--out", tmp_path), "zhou is not on this machine")


@pytest.mark.parametrize("name", ["results.json", "table.md"])
def test_a_file_of_another_program_is_not_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[]")
    misused(glassformer("reproduce", "vinh-mlp", "--out", tmp_path), f"{name} was written by another program")
    assert (tmp_path / name).read_text() == "[]"
