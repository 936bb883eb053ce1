from benchmarks.bulk_shards import Way, figures
from benchmarks.tables_shards import billion_rows, in_days, shards_tables


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_figures_and_their_tables() -> None:
    measured = figures(Way(engine="ray", processes=2, threads=1), 9_000, start=10.0, seconds=13.0, most=123_000_000)
    assert (measured["rows_per_second"], measured["rows_per_second_per_core"]) == (3_000.0, 1_500.0)
    found = {"data": "films", "shards": 9, "rows": 9_000, "shard_bytes": 50_000, "ways": [measured]}
    table, _ = shards_tables(found)
    assert cells(table.splitlines()[-1]) == ["model folder", "`ray`", "2 × 1", "3,000", "10 s", "123 MB"]
    table, said = billion_rows(found)
    expected = ["model folder", "`ray`, 2 × 1", "1,500", "185", "3.9 days", "2.9 hours", "0.2 hours"]
    assert cells(table.splitlines()[-1]) == expected
    assert "are about 50 GB of Parquet" in said


def test_long_durations_are_days() -> None:
    assert in_days(47.0) == "47.0 hours"
    assert in_days(72.0) == "3.0 days"
