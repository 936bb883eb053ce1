import gzip
from pathlib import Path

import polars as pl
import pytest

from glassformer.cli import pace
from glassformer.cli.pace import Pace, size_of_file, size_of_rows


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(pace, "doing", lines.append)
    return lines


def test_rate_and_time_left_are_of_the_time_spent_answering(said: list[str]) -> None:
    now = 0.0
    told = Pace("rows", total=1000, clock=lambda: now)
    told.begin(100)
    now = 2.0
    told.on_progress(0.5)
    now = 4.0
    told.end(200)
    now = 1000.0  # waiting
    told.begin(400)
    now = 1008.0
    told.on_progress(0.5)
    assert said == [
        "answering",
        "answering: 5%, 38 s left",
        "",
        "answering: 200 rows, 50/s, 10%, 36 s left",
        "answering: 200 rows, 50/s, 30%, 28 s left",
    ]


def test_without_a_total_the_rate_alone_is_told(said: list[str]) -> None:
    now = 0.0
    told = Pace("texts", clock=lambda: now)
    told.begin()
    now = 2.0
    told.on_progress(0.25)
    told.end(3000)
    told.begin()
    assert said == ["answering", "answering: 25%", "", "answering: 3,000 texts, 1,500/s"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_the_rows_of_a_file_are_about_its_size(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ['a "quoted" text, with commas', "b"] * 500, "id": [str(i) for i in range(1000)]})
    path = tmp_path / name
    if name == "a.parquet":
        frame.write_parquet(path)
    elif name == "a.jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_csv(path, separator="\t" if name == "a.tsv" else ",")
    assert sum(size_of_rows(part, path) for part in frame.iter_slices(300)) == pytest.approx(
        size_of_file(path), rel=0.1
    )


def test_the_size_of_what_only_reading_tells_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"text\na\n"))
    assert size_of_file(tmp_path / "a.csv.gz") is None
    assert size_of_file(Path("-")) is None
