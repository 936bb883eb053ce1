import json
import sys
from pathlib import Path

import pytest

from benchmarks import search as benchmark
from benchmarks.tables import kinds
from glassformer.experiments.search import rows
from glassformer.training.recipe import Recipe, load_recipe
from tests.benchmarks.test_bench_data import write_rows
from tests.experiments.search.samples import SMALL


def test_a_benchmark_is_written_shown_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("train", 200), ("test", 40)):
        write_rows(tmp_path / "trec" / f"{name}.parquet", count)
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(rows, "FEW_ROWS", 50)
    monkeypatch.setattr(benchmark, "load_recipe", small)
    monkeypatch.setattr("glassformer.experiments.search.space.VALUES", {"model.dropout": (0.1, 0.3)})
    monkeypatch.setattr("benchmarks.experiment.RESULTS", tmp_path / "results")
    command = ["benchmarks/search.py", "--work", str(tmp_path / "work"), "--only", "trec", "--minutes", "20"]
    monkeypatch.setattr(sys, "argv", command)
    benchmark.main()
    found = json.loads((tmp_path / "results" / "search.json").read_text())
    (line,) = found["lines"]
    assert (line["table"], line["trials"]) == ("trec", 2)
    assert line["unseen_rows"] < line["training_rows"] <= 200
    assert line["test_rows"] == 40
    gained = line["test_found"]["accuracy"]["value"] - line["test_default"]["accuracy"]["value"]
    assert line["test_accuracy_difference"]["value"] == pytest.approx(gained)
    shown = "\n".join(kinds(tmp_path / "results")["search"]("search"))
    assert "| trec, held out |" in shown
    assert "| trec, test | 40 |" in shown
    monkeypatch.setattr("glassformer.experiments.search.halving.run_trial", None)
    benchmark.main()
    assert json.loads((tmp_path / "results" / "search.json").read_text())["lines"] == found["lines"]


def small(name: str | None, **given: dict[str, object]) -> Recipe:
    """The recipe of a test, or a file's."""
    return load_recipe(name, overrides=None if name else SMALL | given["overrides"])
