import json
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from benchmarks import costs, later_rows
from benchmarks.experiment import Experiment
from glassformer.data.table import Table
from glassformer.prediction.predictor import Predictor
from tests.cli.test_train_levels import rows
from tests.data.samples import table_of


def written(module: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "argv", [f"benchmarks/{name}.py", "--quick", "--work", str(tmp_path)])
    module.main()
    return json.loads((tmp_path / "trial" / f"{name}.json").read_text())["lines"]


def made(first: int, last: int) -> Table:
    texts, labels = zip(*rows(90)[first:last], strict=True)
    return table_of([label.partition(" > ")[0] for label in labels], list(texts))


def test_what_costs_save_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = made(0, 60), made(60, 90)
    label = train.frame["label"][0]
    entry = costs.Entry(data="made", label=label, cost=4, transformer=False)
    monkeypatch.setattr(costs, "ENTRIES", (entry,))
    monkeypatch.setattr(costs, "read", lambda _: (train, test))
    (line,) = written(costs, "costs", tmp_path, monkeypatch)
    ways = {name: each["value"] for name, each in line["ways"].items()}
    assert ways["saved"] == pytest.approx(ways["most_probable"] - ways["by_cost"])
    assert ways["most_probable"] <= 4 * (1 - line["accuracy"])
    assert ways["with_a_person"] <= ways["by_cost"] + costs.PERSON * line["asked"]
    assert 0 < line["share"] < 1


def test_the_latest_rows_are_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(0, 60)
    begun = datetime(2009, 6, 1)
    times = pl.Series([begun + timedelta(days=day // 3) for day in range(table.frame.height)])
    table = replace(table, frame=table.frame.with_columns(time=times))
    given: list[Table] = []

    def kept(_experiment: object, _name: str, _recipe: object, _train: Table, test: Table) -> Path:
        given.append(test)
        return tmp_path

    answering = SimpleNamespace(answer=lambda texts: SimpleNamespace(named=["0"] * len(texts)))
    monkeypatch.setattr(later_rows, "classifier", kept)
    monkeypatch.setattr(Predictor, "load", lambda _: answering)
    found = later_rows.line(Experiment(work=tmp_path, quick=False, commit=""), "all", table)
    assert [each["held_out_rows"] for each in (*found["random"], found["latest"])] == [12] * 4
    assert found["latest"]["training_rows"] == 48
    assert given[-1].frame["time"].min() > table.frame["time"][45]
