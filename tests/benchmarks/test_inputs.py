import json
import sys
from pathlib import Path

import polars as pl
import pytest

from benchmarks import inputs
from benchmarks.tables import kinds


def table(rows: int) -> pl.DataFrame:
    """Half of the texts say nothing: the shop decides."""
    words, shops = ["good", "bad", "here", "here"], ["Ulm", "Bonn", "Bonn"]
    found = [(words[number % 4], shops[number % 3], number) for number in range(rows)]
    return pl.DataFrame(
        {
            "text": [f"it is {word} {number}" for word, _, number in found],
            "shop": [shop for _, shop, _ in found],
            "label": [word if word != "here" else "good" if shop == "Ulm" else "bad" for word, shop, _ in found],
        }
    )


def test_the_benchmark_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sold").mkdir()
    table(120).write_parquet(tmp_path / "sold" / "train.parquet")
    table(240)[180:].write_parquet(tmp_path / "sold" / "test.parquet")
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path))
    ways = (((), ()), ((), ("shop",)))
    monkeypatch.setattr(inputs, "ENTRIES", (inputs.Entry(name="sold", text="text", label="label", ways=ways),))
    monkeypatch.setattr(inputs, "SEEDS", (0,))
    monkeypatch.setattr(inputs, "PRESET", "tiny")
    monkeypatch.setattr(sys, "argv", ["benchmarks/inputs.py", "--quick", "--work", str(tmp_path / "work")])
    inputs.main()
    results = tmp_path / "work" / "trial"
    alone, beside = json.loads((results / "inputs.json").read_text())["lines"]
    assert alone["inputs"] == ["text"]
    assert alone["without"] == {}
    assert beside["inputs"] == ["text", "shop"]
    assert beside["gain"]["low"] > 0, "half of the rows need the shop"
    assert beside["baseline_gain"]["low"] > 0
    assert set(beside["without"]) == {"text", "shop"}
    assert beside["accuracy"]["value"] - alone["accuracy"]["value"] == pytest.approx(beside["gain"]["value"])
    shown = "\n".join(kinds(results)["inputs"]("inputs"))
    assert "| `sold` | `text`, `shop` | " in shown
    assert "over the text alone" in shown
    assert list(kinds(tmp_path)["inputs"]("inputs")) == ["Not measured yet."]
