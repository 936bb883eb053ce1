import os
from pathlib import Path

from benchmarks.bulk_shards import Clock, Way, figures, finished_in
from benchmarks.tables_shards import shards_tables


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_figures_and_their_tables() -> None:
    marks = {1: (10.0, 20.0), 5: (11.0, 22.0), 10: (13.0, 26.0)}
    way = Way(engine="ray", processes=2, threads=1)
    measured = figures(way, marks, rows=1_000, seconds=15.0, most_memory=123_000_000)
    assert (measured["rows_per_second"], measured["rows_per_core_second"]) == (3_000.0, 1_500.0)
    found = {
        "data": "films", "shards": 10, "rows": 10_000, "shard_bytes": 50_000, "load_average_at_end": 1.5,
        "ways": [measured],
    }  # fmt: skip
    table, said = shards_tables(found)
    row = ["`ray`", "2", "3,000", "2.00", "1,500", "10 s", "123 MB", "185 core-hours"]
    assert cells(table.splitlines()[-1]) == row
    assert "about 50 GB of Parquet" in said


def test_the_clock_reads_this_process() -> None:
    clock = Clock([os.getpid()])
    before = clock.read()
    sum(range(5_000_000))
    assert clock.read() >= before > 0
    assert clock.most_memory > 1e7


def test_finished_shards_are_counted_in_the_manifest(tmp_path: Path) -> None:
    assert finished_in(tmp_path) == 0
    (tmp_path / "_glassformer.jsonl").write_text("the model\na shard\nanother\n", encoding="utf-8")
    assert finished_in(tmp_path) == 2
