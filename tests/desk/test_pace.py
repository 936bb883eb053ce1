from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest

from glassformer.desk import store
from glassformer.desk.choosing import expected_seconds, suggestions
from glassformer.desk.inputs_read import InputsRead
from glassformer.desk.labelling import Said
from glassformer.desk.project import Project
from tests.desk.samples import label, project_of
from tests.trained import write_csv


def decided(project: Project, monkeypatch: pytest.MonkeyPatch, seconds: list[float]) -> None:
    """Label the first texts, with so many seconds before each."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for text, gap in enumerate([0.0, *seconds], 1):
        now += timedelta(seconds=gap)
        monkeypatch.setattr(store, "now", lambda at=now: at.isoformat(timespec="milliseconds"))
        label(project, [text], "praise")


def test_the_seconds_of_a_text_are_those_of_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{number:02} " + "x" * (number % 7) * 10 for number in range(60)]
    project = project_of(tmp_path, texts)
    english = expected_seconds(project.store, [0, 1_428])
    assert english == pytest.approx([3, 63])
    takes = [2 + 0.1 * len(text) for text in texts[1:50]]
    takes[::9] = [240.0] * len(takes[::9])  # they talked to somebody meanwhile
    decided(project, monkeypatch, takes[:28])
    assert expected_seconds(project.store, [0, 1_428]) == pytest.approx(english), "too few to say"
    decided(project, monkeypatch, takes)
    assert expected_seconds(project.store, [0, 100]) == pytest.approx([2, 12], rel=0.05)


def test_texts_of_one_length_take_what_they_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(tmp_path, [f"text {number:02}" for number in range(50)])
    decided(project, monkeypatch, [5.0] * 40)
    assert expected_seconds(project.store, [7, 1_000]) == pytest.approx([5, 5], rel=1e-3)


def test_the_values_beside_a_text_are_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"text {number:02}", "x" * (number % 5) * 10, "a" if number % 2 else "b") for number in range(50)]
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "t.csv", rows, ("text", "a column with a long name", "label")))
    project.read(text="text", other_texts=["a column with a long name"], label=None, without_labels=True)
    decided(project, monkeypatch, [1 + 0.1 * len(rows[number][0] + rows[number][1]) for number in range(1, 45)])
    assert expected_seconds(project.store, [0, 100]) == pytest.approx([1, 11], rel=0.05)


def test_long_texts_come_later_and_the_shortest_no_sooner() -> None:
    texts = pl.DataFrame(
        {"id": [1, 2, 3], "text": ["one", "two", "three"], "beside": [None] * 3, "draw": [0.9] * 3},
        schema_overrides={"beside": pl.String},
    )
    predictor: Any = Mock(trained=SimpleNamespace(config=SimpleNamespace(inputs=None)))
    labelling: Any = Mock(said=lambda _: Said(["a"] * 3, None, np.array([0.4, 0.5, 0.5])))
    chosen = suggestions(predictor, texts, labelling, InputsRead(text="text"), np.array([2.0, 9.0, 3.0]))
    assert chosen.sort("place")["id"].to_list() == [3, 1, 2]
