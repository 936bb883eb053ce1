import json
import sys
from pathlib import Path

import pytest

from benchmarks import minutes
from benchmarks.tables import kinds
from glassformer.training import time_plan
from tests.benchmarks.test_bench_data import write_rows
from tests.benchmarks.test_bench_of_tables import tiny
from tests.support import whole_cross_fitting


def test_a_benchmark_is_written_shown_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows(tmp_path / "trec" / "train.parquet", 300)
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(minutes, "load_recipe", lambda name, **given: without_steps(name, **given))
    monkeypatch.setattr("benchmarks.experiment.RESULTS", tmp_path / "results")
    monkeypatch.setattr(time_plan, "_PROBE", (0.0, 0.05, 0.05))
    command = ["benchmarks/minutes.py", "--work", str(tmp_path / "work"), "--only", "trec", "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", [*command, "--minutes", "0.0001", "50"])
    with whole_cross_fitting():
        minutes.main()
    found = json.loads((tmp_path / "results" / "minutes" / "minutes.json").read_text())
    short, long = found["lines"]
    assert [short["runs"][0]["settings"], long["runs"][0]["settings"]] == [{"training.epochs": 0}, {}]
    assert short["mean"]["transformer"] is None
    assert 0 <= long["mean"]["transformer"] <= 1
    assert short["mean"]["accuracy"] == short["mean"]["counting"]
    assert 0 < long["mean"]["true_minutes"] < 5
    assert 0 <= long["mean"]["planned_minutes"] < 5  # in hundredths
    shown = "\n".join(kinds(tmp_path / "results")["minutes"]("minutes"))
    assert "| trec | 240 | 0.0001 | counting alone | " in shown
    assert "| trec | 240 | 50 | the recipe | " in shown
    assert list(kinds(tmp_path)["minutes"]("minutes")) == ["Not measured yet."]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("model.safetensors")}
    capsys.readouterr()
    with whole_cross_fitting():
        minutes.main()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("model.safetensors")} == before
    assert json.loads((tmp_path / "results" / "minutes" / "minutes.json").read_text())["lines"] == found["lines"]
    monkeypatch.setattr(sys, "argv", [*command[:-3], "nosuch"])
    with pytest.raises(SystemExit, match="'nosuch' is no entry of the bench"):
        minutes.main()


def without_steps(name: str | None, **given: object) -> object:
    """The tiny recipe, which leaves it to the minutes how long to train."""
    recipe = tiny(name, **given)  # type: ignore[arg-type]
    budget = {"max_steps": None, "epochs": 1, "min_steps_per_epoch": 4}
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=budget)})
