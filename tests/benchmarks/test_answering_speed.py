import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import answering_speed
from benchmarks.answering_contestants import CONTESTANTS, Contestant, memory, times
from benchmarks.tables import kinds
from benchmarks.tables_speed import answering_tables
from glassformer.training import recipe
from glassformer.training.recipe import load_recipe
from tests.support import unchecked_shapes

TAKING_PART = (
    "glassformer, onnx-int8",
    "glassformer, all readers",
    "transformers pipeline, BERT",
    "TF-IDF + logistic regression",
)
WEIGHED = TAKING_PART[1], TAKING_PART[3]  # with and without torch
child = answering_speed.child


def mostly_here(name: str, folder: Path, threads: int, *way: str) -> dict[str, Any]:
    """A process of its own only where the memory of one says something."""
    if way and name in WEIGHED:
        return child(name, folder, threads, *way)
    texts, contestant = json.loads((folder / "texts.json").read_text()), CONTESTANTS[name](folder)
    return memory(contestant, texts, int(way[0])) if way else times(contestant, texts)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the libraries that export the BERT
def test_a_trial_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("transformers", "onnxruntime"):
        pytest.importorskip(package)
    monkeypatch.setattr(answering_speed, "CONTESTANTS", {name: CONTESTANTS[name] for name in TAKING_PART})
    monkeypatch.setattr(answering_speed, "DATA", {"tweets": "polarity"})
    monkeypatch.setattr(answering_speed, "EPOCHS", {"tweets": 1})
    few = {"training.max_steps": 5}
    made = {name: answering_speed.ANSWERING[name] for name in ("alone", "all")}
    monkeypatch.setattr(answering_speed, "ANSWERING", made)
    monkeypatch.setattr(
        recipe, "load_recipe", lambda _, *, overrides: load_recipe(preset="tiny", overrides={**overrides, **few})
    )
    monkeypatch.setattr(answering_speed, "STARTED", {})
    monkeypatch.setattr(answering_speed, "child", mostly_here)
    for left_out in ("write_fasttext", "export_bert"):  # the one is not always there; the other takes seconds
        monkeypatch.setattr(answering_speed, left_out, lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["benchmarks/answering_speed.py", "--quick", "--work", str(tmp_path / "work")])
    with unchecked_shapes():
        answering_speed.main()
    trial = tmp_path / "work" / "trial"
    text = (trial / "answering-speed.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    found = {each["name"]: each["tweets"] for each in json.loads(text)["contestants"]}
    assert tuple(found) == TAKING_PART
    every = found["glassformer, all readers"]
    assert every["answers_by"] == "both readers"  # labels that are drawn at random teach the body nothing
    assert (every["weight_by_hand"] is None) == (every["training_chose"] == every["answers_by"])
    int8 = found["glassformer, onnx-int8"]
    assert ("refused" in int8) != ("checked" in int8)
    measured = {name: figures for name, figures in found.items() if "refused" not in figures}
    for figures in measured.values():
        assert figures["texts"] == 20
        assert 0 < figures["p50_ms"] <= figures["p99_ms"]
        assert figures["texts_per_second"] > 0
    peaks = {name: figures["peak_memory_bytes"] for name, figures in measured.items()}
    of_torch = peaks["glassformer, all readers"]
    assert 0 < peaks["TF-IDF + logistic regression"] < of_torch / 1.3
    shown = "\n".join(kinds(trial)["answering-speed"]("answering-speed"))
    assert "\nglassformer, all readers: training chose " in shown
    assert "\nglassformer, onnx-int8: " in shown


def test_the_fastest_way_counts_and_the_median_of_the_rounds(tmp_path: Path) -> None:
    asked: list[int] = []
    (tmp_path / "weights").write_bytes(b"1234567")
    (tmp_path / "made-of.json").write_bytes(b"12")

    def answer(texts: object) -> None:
        asked.append(len(list(texts)))  # type: ignore[call-overload]

    contestant = Contestant(files=tmp_path.iterdir(), one=answer, ways=[answer, answer])
    found = times(contestant, ["a", "b", "c"])
    assert asked == [1, 1, 1, 1, 1, 1, 3, 3]  # warm-up, one by one, both ways
    assert (len(found["milliseconds"]), len(found["seconds"]), found["bytes"]) == (3, 2, 7)
    runs = [
        {"milliseconds": [1.0, 3.0], "seconds": [4.0, 2.0], "bytes": 7},
        {"milliseconds": [5.0, 7.0], "seconds": [1.0, 8.0], "bytes": 7},
        {"milliseconds": [3.0, 5.0], "seconds": [0.5, 8.0], "bytes": 7},
    ]
    figures = answering_speed.summary({1: runs})
    assert (figures["texts"], figures["p50_ms"], figures["texts_per_second"]) == (2, 4.0, 2.0)
    slow = {"milliseconds": [4.5, 4.5], "seconds": [0.5, 0.5], "bytes": 7}
    figures = answering_speed.summary({1: runs, 2: [slow, slow, slow]})  # slower for one text, faster for all
    assert (figures["p50_ms"], figures["p99_ms"], figures["texts_per_second"]) == (4.0, 4.98, 4.0)
    assert figures["threads"] == {"one": 1, "all": 2}
    assert figures["by_threads"]["2"] == {"p50_ms": 4.5, "p99_ms": 4.5, "texts_per_second": 4.0}


def test_a_refused_export_is_shown_with_its_figures() -> None:
    figures = {"texts": 20, "p50_ms": 1.0, "p99_ms": 2.0, "texts_per_second": 3.0, "bytes": 4, "peak_memory_bytes": 5}
    contestants = [
        {"name": "transformers pipeline", "tweets": figures},
        {"name": "int8", "tweets": {"refused": "98% keep their labels"}},
    ]
    shown = list(answering_tables({"contestants": contestants, "first_answer": {}}))
    assert "int8: the export was refused. 98% keep their labels." in shown
    assert not [table for table in shown if "| int8 |" in table]
