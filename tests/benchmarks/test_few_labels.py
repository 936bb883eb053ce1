import json
import sys
from functools import partial
from pathlib import Path

import pytest

from benchmarks import bench_data, few_labels, tables_few
from benchmarks.bench_data import Entry, cut_rows
from benchmarks.tables import kinds
from glassformer.training.recipe import load_recipe


def test_each_class_gives_the_same_number_of_rows() -> None:
    table = cut_rows(Entry(name="few", data="polarity", minutes=1), 0, test=True).train
    chosen, rest = few_labels.few_rows(table, 8, draw=0)
    assert chosen.frame["label"].value_counts()["count"].to_list() == [8, 8]
    assert not set(chosen.frame["row"]) & set(rest.frame["row"])
    assert chosen.frame.height + rest.frame.height == table.frame.height
    other, _ = few_labels.few_rows(table, 8, draw=1)
    assert set(other.frame["row"]) != set(chosen.frame["row"])


def test_a_benchmark_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_data, "ENTRIES", (Entry(name="few", data="polarity", minutes=1),))
    monkeypatch.setattr(few_labels, "PLAN", {"few": (8,)})
    monkeypatch.setattr(few_labels, "_TRIAL", (8,))
    monkeypatch.setattr(few_labels, "load_recipe", partial(load_recipe, preset="tiny"))
    asked = ["--quick", "--minutes", "0", "--work", str(tmp_path / "work")]
    monkeypatch.setattr(sys, "argv", ["few_labels.py", *asked])
    few_labels.main()
    found = json.loads((tmp_path / "work" / "trial" / "few-labels.json").read_text())
    (line,) = found["lines"]
    assert (line["rows"], line["per_class"]) == (16, 8)
    assert set(line["contestants"]) == {few_labels.TFIDF, few_labels.NAIVE_BAYES, few_labels.COUNTING}
    for name, figures in line["contestants"].items():
        assert len(figures["of_draws"]) == 1
        accuracy = figures["accuracy"]
        assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
        assert (figures["over_tfidf"] is None) == (name == few_labels.TFIDF)
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["few-labels"]("few-labels"))
    assert "| `few` | 8 | " in shown
    assert "naive Bayes 1; " in shown
    assert list(kinds(tmp_path)["few-labels"]("few-labels")) == ["Not measured yet."]


def test_a_contestant_of_fewer_draws_has_no_mean_beside_the_others() -> None:
    half = {"value": 0.5, "low": 0.25, "high": 0.75}

    def figures(*of_draws: float) -> dict[str, object]:
        return {"of_draws": of_draws, "accuracy": half, "over_tfidf": half}

    contestants = {"naive Bayes": figures(0.5, 0.5), "ours": figures(0.5)}
    line = {"table": "few", "per_class": 8, "test_rows": 7, "contestants": contestants}
    first, means, *_, said = tables_few.few_tables({"lines": [line], "seconds": 60})
    assert first.startswith("Accuracy on the test rows")
    assert "| table | rows of each class | naive Bayes |" in means
    assert "naive Bayes 2; ours 1." in said
    assert "Pre-training" not in said
