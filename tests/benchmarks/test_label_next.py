import json
import sys
from pathlib import Path

import pytest

from benchmarks import label_next
from benchmarks.tables import kinds
from benchmarks.tables_labels import next_tables


def test_gains_are_shown_in_points() -> None:
    both = [
        {"random": [0.5, 0.6, 0.7], "chosen": [0.5, 0.65, 0.75]},
        {"random": [0.5, 0.6, 0.7], "chosen": [0.5, 0.63, 0.73]},
    ]
    lines = [{"table": "films", "seed": seed, "accuracy": each} for seed, each in enumerate(both)]
    shown = "\n".join(next_tables({"start": 200, "step": 50, "lines": lines}))
    assert "| table | 200 labels | 300, random | 300, chosen | chosen − random |" in shown
    assert "| `films` | .500 | .700 | .740 | +4.0 ± 1.0 |" in shown


def test_without_a_result_the_page_says_so(tmp_path: Path) -> None:
    assert list(kinds(tmp_path)["label-next"]("label-next")) == ["Not measured yet."]


def test_a_trial_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_next, "TABLES", ("polarity",))
    monkeypatch.setattr(label_next, "TIMES", 1)
    monkeypatch.setattr(sys, "argv", ["benchmarks/label_next.py", "--quick", "--work", str(tmp_path)])
    label_next.main()
    (line,) = json.loads((tmp_path / "trial" / "label-next.json").read_text())["lines"]
    assert line["accuracy"]["chosen"][0] == line["accuracy"]["random"][0]  # both start from the same rows
    assert [len(each) for each in line["accuracy"].values()] == [2, 2]
