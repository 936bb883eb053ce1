import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import literal_speed
from benchmarks.experiment import Experiment
from benchmarks.tables import kinds
from glassformer.experiments.published.systems import TableEntry


def test_a_trial_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment(work=tmp_path / "work", quick=True, commit="a")

    def alternate(entry: TableEntry) -> dict[str, Any]:
        return {name: literal_speed.measure(experiment, entry.system, name) for name in entry.variants}

    generated = replace(literal_speed.entry_of("notes-decoder"), data="polarity")
    monkeypatch.setattr(literal_speed, "entry_of", lambda _: generated)
    monkeypatch.setattr(literal_speed, "alternate", alternate)
    monkeypatch.setattr(literal_speed, "QUICK_SECONDS", 2.0)  # the first step of a process alone may take half a second
    monkeypatch.setattr(literal_speed, "SECONDS", {"notes-decoder": 12.0})
    monkeypatch.setattr(sys, "argv", ["benchmarks/literal_speed.py", "--quick", "--work", str(tmp_path / "work")])
    literal_speed.main()
    trial = tmp_path / "work" / "trial"
    (system,) = json.loads((trial / "literal-speed.json").read_text(encoding="utf-8"))["systems"]
    assert (system["rows"], system["held_out_rows"], system["seconds"]) == (270, 30, 2.0)
    literal, corrected, ours = system["variants"]
    assert literal["parameters"] == pytest.approx(corrected["parameters"], rel=0.05)
    assert (literal["batch_size"], ours["batch_size"]) == (32, 64)
    assert ours["ours_is_faster_by"] == {"median": 1.0, "lowest": 1.0, "highest": 1.0}
    for variant in system["variants"]:
        assert variant["steps"] > 1
        assert 0 <= variant["accuracy"][0] <= 1
    shown = "\n".join(kinds(trial)["literal-speed"]("literal-speed"))
    assert "| our default | " in shown
    assert "| `notes-decoder`, literal | " in shown


def test_ratios_are_those_within_a_round() -> None:
    def run(speed: float, accuracy: float) -> dict[str, Any]:
        fields = {"parameters": 7, "batch_size": 2, "steps": 5, "rows": 90, "held_out_rows": 10}
        return fields | {"texts_per_second": speed, "accuracy": accuracy}

    rounds = [
        {"literal": run(10, 0.5), "default": run(100, 0.8)},
        {"literal": run(20, 0.6), "default": run(400, 0.7)},
        {"literal": run(10, 0.7), "default": run(150, 0.9)},
    ]
    literal, ours = literal_speed.summary(rounds)["variants"]
    assert literal["ours_is_faster_by"] == {"median": 15, "lowest": 10, "highest": 20}
    assert ours["accuracy"] == [0.8, 0.7, 0.9]
