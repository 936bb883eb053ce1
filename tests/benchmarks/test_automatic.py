import json
import sys
from pathlib import Path

import pytest

from benchmarks import automatic, bench_data
from benchmarks.bench_data import Entry
from benchmarks.tables import kinds


def test_a_benchmark_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_data, "ENTRIES", (Entry(name="few", data="polarity", rows=200, minutes=1),))
    monkeypatch.setattr(automatic, "TABLES", ("few",))
    monkeypatch.setattr(automatic, "SEEDS", (0, 1))
    monkeypatch.setattr(sys, "argv", ["benchmarks/automatic.py", "--quick", "--work", str(tmp_path / "work")])
    automatic.main()
    found = json.loads((tmp_path / "work" / "trial" / "automatic.json").read_text())
    (line,) = found["lines"]
    assert (line["cross_fitted"], line["held_out_rows"], line["test_rows"]) == (True, line["training_rows"], 300)
    assert [share["asked"] for share in line["shares"]] == [0.8, 0.9, 0.95, 1.0]
    assert line["shares"][3]["coverage"]["value"] == 1
    assert line["shares"][3]["error"] == line["shares"][3]["error_of_surest"]
    for share in line["shares"][:3]:
        assert share["coverage"]["low"] <= share["coverage"]["value"] <= share["coverage"]["high"] < 1
    for sets in line["sets"]:
        assert sum(sets["of_seeds"]) / 2 == pytest.approx(sets["coverage"]["value"])
        assert 0 <= sets["mean_size"] <= 2
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["automatic"]("automatic"))
    assert "| `few` | 90% | " in shown
    assert "| `few`, 2 labels | 90% | " in shown
    assert "Preset `tiny`, seeds 0–1: means over the seeds" in shown
    assert list(kinds(tmp_path)["automatic"]("automatic")) == ["Not measured yet."]
