import json
import sys
from pathlib import Path

import polars as pl
import pytest

from benchmarks import targets
from benchmarks.tables import kinds
from benchmarks.targets import Source, table_of_pairs
from glassformer.data.known import Split
from glassformer.data.table import Table
from tests.cli.test_number import scored_rows
from tests.cli.test_train_ordered import graded_rows


def scored(split: Split) -> Table:
    return made(scored_rows(90), split)


def graded(split: Split) -> Table:
    return made(graded_rows(90), split)


def made(rows: list[tuple[str, str]], split: Split) -> Table:
    chosen = rows[:60] if split == "train" else rows[60:]
    frame = pl.DataFrame(chosen, schema=["text", "label"], orient="row").with_row_index("row", offset=1)
    return Table(frame=frame, source="made", text_column="text", label_column="label")


def test_a_benchmark_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "NUMBERS", {"few, score": Source(read=scored)})
    monkeypatch.setattr(targets, "ORDERED", {"few": Source(read=graded, order=("bad", "fair", "good"))})
    monkeypatch.setattr(targets, "SEEDS", (0,))
    monkeypatch.setattr(sys, "argv", ["benchmarks/targets.py", "--quick", "--work", str(tmp_path / "work")])
    targets.main()
    found = json.loads((tmp_path / "work" / "trial" / "targets.json").read_text())
    (number,), (ordered,) = found["numbers"], found["ordered"]
    difference = number["difference_in_r2"]
    assert difference["value"] == pytest.approx(number["model"]["r2"] - number["ridge"]["r2"])
    assert difference["low"] <= difference["value"] <= difference["high"]
    assert [each["asked"] for each in number["intervals"]] == [0.8, 0.9, 0.95]
    figures = ordered["figures"]
    assert figures["ordered"]["distance"] - figures["classes"]["distance"] == pytest.approx(
        ordered["difference_in_distance"]["both"]["value"]
    )
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["targets"]("targets"))
    assert "| `few, score` | glassformer | " in shown
    assert "| `few`, 3 classes | cumulative logits | " in shown
    assert list(kinds(tmp_path)["targets"]("targets")) == ["Not measured yet."]


def test_two_sentences_are_one_text(tmp_path: Path) -> None:
    columns = {"sentence_a": ["a b"], "sentence_b": ["c"], "relatedness": [3.5]}
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    table = table_of_pairs(tmp_path / "t.parquet")
    assert table.frame.rows() == [(1, "a b / c", "3.5")]
