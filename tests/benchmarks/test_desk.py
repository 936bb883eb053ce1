import json
import sys
from pathlib import Path

import pytest

from benchmarks import desk
from benchmarks.tables_desk import desk_tables


def test_the_labels_that_are_needed_are_counted() -> None:
    random = [[50, 0.5, 9.0], [100, 0.6, 20.0]]
    chosen = [[50, 0.55, 8.0], [60, 0.58, 10.0], [80, 0.61, 15.0], [100, 0.65, 18.0]]
    lines = [
        {"table": "films", "seed": 0, "way": way, "rounds": rounds}
        for way, rounds in (("random", random), ("desk", chosen))
    ]
    shown = "\n".join(desk_tables({"sizes": [50, 100], "lines": lines}))
    assert "| `films` | random | .500 | .600 |  |" in shown
    assert "| `films` | desk | .550 | .650 | 80 (75%) |" in shown


def test_a_trial_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "TABLES", ("polarity",))
    monkeypatch.setattr(sys, "argv", ["benchmarks/desk.py", "--quick", "--work", str(tmp_path)])
    desk.main()
    chosen, random = json.loads((tmp_path / "trial" / "desk.json").read_text())["lines"]
    assert [labels for labels, *_ in random["rounds"]] == [20, 30], "where figures are reported"
    assert [labels for labels, *_ in chosen["rounds"]] == [16, 20, 30], "and where a round begins"
    assert 0 < chosen["rounds"][1][2] < chosen["rounds"][2][2], "minutes"
