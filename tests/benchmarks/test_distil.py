import json
import sys
from pathlib import Path

import pytest

from benchmarks import distil
from benchmarks.distil import Setting, rows_of
from benchmarks.tables import kinds
from glassformer.data import polarity


def test_a_benchmark_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distil, "SETTINGS", (Setting(data="polarity", teacher="tiny", labelled=250, more=50),))
    monkeypatch.setattr(distil, "TIMED", 20)
    command = ["benchmarks/distil.py", "--quick", "--work", str(tmp_path / "work")]
    monkeypatch.setattr(sys, "argv", command)
    distil.main()
    found = json.loads((tmp_path / "work" / "trial" / "distil.json").read_text())
    (line,) = found["lines"]
    teacher, labels, alone, student = line["models"]
    assert teacher["agreement"] == 1.0
    assert labels["parameters"] > alone["parameters"] * 0.9
    assert (alone["answers_by"], student["answers_by"]) == ("the transformer", "the transformer")
    assert all(0 < model["accuracy"] <= 1 and model["texts_per_second"] > 0 for model in line["models"])
    assert student["teacher_seconds"] > 0
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["distil"]("distil"))
    assert "| student: `tiny` | the transformer | " in shown
    assert "**`polarity`**: 250 labelled rows, and 50 other texts for the student; measured on 300" in shown
    assert list(kinds(tmp_path)["distil"]("distil")) == ["Not measured yet."]


def test_no_text_is_on_two_sides() -> None:
    rows = rows_of(Setting(data="polarity", teacher="tiny", labelled=500, more=300), quick=False)
    assert rows.more is not None
    sides = [set(rows.labelled.frame["text"]), set(rows.more.texts), set(rows.held_out.frame["text"])]
    assert [len(side) for side in sides][:2] == [500, 300]
    assert not (sides[0] & sides[1])
    assert not (sides[0] & sides[2])
    assert not (sides[1] & sides[2])
    assert set().union(*sides) <= set(polarity.generate("train").frame["text"])
