import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import bench_contestants, bench_data, bench_of_tables
from benchmarks.bench_contestants import NB_LR, OURS, TFIDF, Answered, readers_alone
from benchmarks.bench_data import Entry, entries_named
from benchmarks.bench_opponents import FastText
from benchmarks.bench_result import EntryRun, entry_result, summary
from benchmarks.experiment import RESULTS, ROOT
from benchmarks.tables import kinds
from benchmarks.tables_common import fill
from glassformer.errors import UsageError
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import Recipe, load_recipe
from tests.benchmarks.test_bench_data import write_rows
from tests.support import whole_cross_fitting

SMALL = (
    Entry(name="trec", data="trec", minutes=1),
    Entry(name="trec-noise", data="trec", rows=100, noise=0.2, minutes=2),
)


def tiny(name: str | None, *, overrides: Mapping[str, Any] | None = None) -> Recipe:
    steps = {"model.d_model": 8, "model.d_ff": 8, "training.max_steps": 3}
    return load_recipe(name, preset="tiny", overrides={**(overrides or {}), **steps})


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bench of two small tables and a tiny model. Return the folder of its work."""
    write_rows(tmp_path / "trec" / "train.parquet", 300)
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(bench_data, "ENTRIES", SMALL)
    monkeypatch.setattr(bench_contestants, "load_recipe", tiny)
    monkeypatch.setattr("benchmarks.experiment.RESULTS", tmp_path / "results")
    monkeypatch.setattr(FastText, "is_installed", staticmethod(lambda: False))
    return tmp_path / "work"


def run(work: Path, *words: str) -> None:
    sys.argv = ["benchmarks/bench_of_tables.py", "--work", str(work), *words]
    bench_of_tables.main()


def test_a_bench_is_written_and_goes_on(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    with whole_cross_fitting():
        run(bench, "--seeds", "1", "--only", "trec")
    assert "| trec | 240 | ." in capsys.readouterr().out
    assert not (bench.parent / "results").exists()
    models = set(bench.rglob("model.safetensors"))
    assert len(models) == 1
    with whole_cross_fitting():
        run(bench, "--seeds", "2")
    said = capsys.readouterr().err
    assert said.startswith("2 entries, 2 seeds\nabout 6 min 0 s in all on two cores; minutes for a seed: trec 1, trec")
    assert "trec, seed 0\n  done in " in said  # nothing of it is done again
    assert "fastText is left out" in said
    assert said.endswith("about 0 s left\n")
    assert models < set(bench.rglob("model.safetensors"))
    found = json.loads((bench.parent / "results" / "bench-of-tables" / "development.json").read_text())
    assert found["seeds"] == [0, 1]
    assert sum(found["summary"].values()) == 2
    assert [entry["name"] for entry in found["entries"]] == ["trec", "trec-noise"]
    for entry in found["entries"]:
        assert entry["contestants"].keys() == {OURS, "counting", "transformer", TFIDF, NB_LR}
        assert entry["contestants"][OURS]["bytes"] > 5_000
        assert entry["contestants"][OURS]["training_seconds"] > 0
        assert entry["contestants"]["counting"]["bytes"] is None
    assert "amber" not in json.dumps(found)  # no texts


@pytest.mark.usefixtures("unsealed")
def test_each_reader_answers_alone_whatever_its_weight(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    with whole_cross_fitting():
        run(bench, "--seeds", "1", "--only", "trec")
    (file,) = bench.rglob("config.json")
    config, texts = json.loads(file.read_text()), ["amber basil cedar 1", "heron grove flint 2", "delta ember amber 3"]
    alone = []
    for weights in ({"counting": 0.001, "transformer": 1.0}, {"counting": 0.5, "transformer": 0.0}):
        for name, weight in weights.items():
            config["readers"][name]["weight"] = weight
        file.write_text(json.dumps(config))
        predictor = Predictor.load(file.parent)
        alone.append(readers_alone(predictor, texts))
        heavy = max(weights, key=weights.__getitem__)
        assert alone[-1][heavy] == predictor.logits(texts).argmax(axis=1).tolist()
    assert alone[0] == alone[1]
    assert alone[0].keys() == {"counting", "transformer"}
    config["readers"] = None
    file.write_text(json.dumps(config))
    assert readers_alone(Predictor.load(file.parent), texts) == {}


def test_a_transformer_that_training_gave_up_is_left_out(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    run(bench, "--seeds", "1", "--only", "trec")
    said = capsys.readouterr()
    assert "cross-fitting ends early, without a transformer: " in said.err
    assert "transformer alone" not in said.out


def test_entries_are_chosen_by_name() -> None:
    assert [entry.name for entry in entries_named(["zhou", "trec"])] == ["zhou", "trec"]
    with pytest.raises(UsageError, match=r"'treck' is no entry of the bench. Choose from zhou, trec, "):
        entries_named(["treck"])


def a_run(seed: int, ours: list[int], theirs: list[int]) -> EntryRun:
    return EntryRun(
        seed=seed,
        classes=2,
        training_rows=100 + seed,
        training_sha256="a",
        data_sha256="b",
        rows=list(range(1, 41)),
        labels=np.array([0] * 30 + [1] * 10),
        answers={
            OURS: Answered(answers=ours, training_seconds=90.0 + 60 * seed, answering_seconds=0.5, bytes=2_500_000),
            "counting": Answered(answers=theirs),
            TFIDF: Answered(answers=theirs, training_seconds=1.0, answering_seconds=0.5, bytes=9),
        },
    )


RIGHT, WITHOUT_SECOND = [0] * 30 + [1] * 10, [0] * 40


def test_an_entry_is_compared_over_its_seeds() -> None:
    better = entry_result(SMALL[0], [a_run(0, RIGHT, WITHOUT_SECOND), a_run(1, RIGHT, WITHOUT_SECOND)])
    worse = entry_result(SMALL[0], [a_run(0, WITHOUT_SECOND, RIGHT)])
    same = entry_result(SMALL[0], [a_run(0, WITHOUT_SECOND, RIGHT), a_run(1, RIGHT, WITHOUT_SECOND)])
    assert [found["outcome"] for found in (better, worse, same)] == ["better", "worse", "no difference"]
    assert summary([better, worse, worse, same]) == {"better": 1, "worse": 2, "no difference": 1}
    assert better["p"] == pytest.approx(2 / 2**10)
    assert better["best"] == {"name": TFIDF} | {key: better[key] for key in ("difference", "p", "outcome")}
    figures = better["contestants"][TFIDF]
    assert figures.pop("accuracy_of_seeds") == [0.75, 0.75]
    assert figures.pop("macro_f1_of_seeds") == pytest.approx([3 / 7, 3 / 7])
    assert figures == pytest.approx(
        {"accuracy": 0.75, "macro_f1": 3 / 7, "training_seconds": 1.0, "answering_seconds": 0.5, "bytes": 9}
    )
    assert same["contestants"][OURS]["accuracy"] == pytest.approx(0.875)


def test_the_page_shows_every_result_and_what_has_none(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-it-works" / "bench-of-tables.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- bench-of-tables: (\S+) -->", page)
    assert shown == ["test"]
    assert {file.stem for file in (RESULTS / "bench-of-tables").glob("*.json")} <= set(shown)
    assert fill(page, kinds(tmp_path)).count("-->\nNot measured yet.\n<!-- end -->") == 1


def test_a_result_as_it_is_shown(tmp_path: Path) -> None:
    better = entry_result(SMALL[1], [a_run(0, RIGHT, WITHOUT_SECOND), a_run(1, RIGHT, WITHOUT_SECOND)])
    same = entry_result(SMALL[0], [a_run(0, RIGHT, RIGHT)])
    document = {
        "rows": "the official test rows",
        "seeds": [0, 1],
        "entries": [better, same],
        "summary": summary([better, same]),
        "best": summary([better["best"], same["best"]]),
        "left_out": ["fastText"],
        "command": "python -m benchmarks.bench_of_tables --test",
        "machine": {"architecture": "abc", "system": "Linux", "cores": 5, "python": "3.12.4"}
        | {"threads": 3, "processor": "Abacus 7"},
        "versions": {"torch": "2.13.0"},
        "commit": "0123456789abcdef",
    }
    (tmp_path / "bench-of-tables").mkdir()
    (tmp_path / "bench-of-tables" / "test.json").write_text(json.dumps(document), encoding="utf-8")
    text = fill("<!-- bench-of-tables: test -->\nold\n<!-- end -->\n", kinds(tmp_path))
    assert (
        "On 2 tables, compared with TF-IDF, ours is significantly better on **1** and significantly worse on **0**"
        in text
    )
    assert "the most accurate of the other classifiers on each table, ours is significantly better on **1**" in text
    assert "| table | training rows | ours | counting reader alone | TF-IDF | ours − TF-IDF | p | ours is |" in text
    found = r"\+\.250 \[\+\.\d+, \+\.\d+\] \| \.002 \| \*\*better\*\* \| 2\.0 \| 2\.5 \|"
    assert re.search(r"\| trec-noise \| 100 to 101 \| 1\.000 \| \.750 \| \.750 \| " + found, text)
    assert "| trec | 100 | 1.000 | 1.000 | 1.000 | +.000 [+.000, +.000] | 1.000 | – | 1.5 | 2.5 |" in text
    assert "Accuracies on the official test rows, means over seeds 0–1. Minutes" in text
    assert "fastText was not installed, and is left out." in text
    assert "3 threads; `python -m benchmarks.bench_of_tables --test`" in text
