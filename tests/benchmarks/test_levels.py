import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import levels
from glassformer.data.table import Table
from tests.cli.test_train_levels import rows
from tests.data.samples import table_of


def made(split: str) -> Table:
    first = {"train": 0, "validation": 30, "test": 45}[split]
    texts, labels = zip(*rows(90)[first : first + 30], strict=True)
    return replace(table_of(list(labels), list(texts)), levels=" > ")


def test_a_benchmark_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "read", made)
    monkeypatch.setattr(sys, "argv", ["benchmarks/levels.py", "--quick", "--work", str(tmp_path / "work")])
    levels.main()
    found = json.loads((tmp_path / "work" / "trial" / "levels.json").read_text())
    (line,) = found["lines"]
    assert (line["rows_of_each"], line["test_rows"]) == (3, 18)
    first = line["first_level"]
    assert first["summed"]["value"] == line["levels"]["contestants"][0]["levels"][0]["accuracy"]["value"]
    assert first["summed_minus_learned_alone"]["value"] == pytest.approx(
        first["summed"]["value"] - first["learned_alone"]["value"]
    )
    by_least = {each["least"]: each for each in line["by_threshold"]}
    assert by_least[0.5]["f1"] == line["levels"]["paths"]["f1"]
    assert by_least[0.9]["none"] >= by_least[0.5]["none"]
    assert line["chosen_on_held_out_rows"] in found["thresholds"]


def test_each_intent_has_one_domain() -> None:
    assert len(levels.DOMAINS) == 150
    assert len(set(levels.DOMAINS.values())) == 10
