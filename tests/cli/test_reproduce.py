import json
from pathlib import Path

import pytest

from glassformer.evaluation.reproduce import systems
from glassformer.evaluation.reproduce.systems import Entry, Variant
from tests.cli.terminal import glassformer, misused

STEPS = {"training.max_steps": 2}
POLARITY = Entry(
    system="vinh-mlp",
    data="polarity",
    reported=".99, one run",
    variants={
        "literal": Variant(recipe="vinh-mlp", seeds=2, overrides=STEPS),
        "default": Variant(recipe="quick", seeds=1, overrides=STEPS),
    },
)
ZHOU = Entry(system="bui-dang-rows", data="zhou", reported="", variants=dict(POLARITY.variants))


@pytest.fixture(autouse=True)
def two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that can be run, and one whose data is not on this machine."""
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


def test_a_first_look_says_that_it_proves_little(tmp_path: Path) -> None:
    said = glassformer("reproduce", "vinh-mlp", "--quick", "--out", tmp_path)
    assert said.code == 0
    assert "a first look only" in said.err
    assert "seeds)" not in said.out


def test_misuse(tmp_path: Path) -> None:
    vague = glassformer("reproduce", "vinh", "--out", tmp_path)
    misused(vague, "no system 'vinh' (did you mean 'vinh-mlp'?)")
    elsewhere = glassformer("reproduce", "vinh-mlp", "--data", "zhou", "--out", tmp_path)
    misused(elsewhere, "--data zhou: vinh-mlp does not run on it")
    misused(glassformer("reproduce", "bui-dang-rows", "--out", tmp_path), "zhou is not on this machine")
