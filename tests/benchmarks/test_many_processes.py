from benchmarks.many_processes import figures, ways
from benchmarks.tables_processes import processes_tables


def test_the_ways_to_use_all_cores() -> None:
    assert ways(4) == [(1, 1), (1, 4), (4, 1)]
    assert ways(1) == [(1, 1)]


def test_the_figures_and_their_table() -> None:
    measured = figures(6_000, (2, 1), [10.0, 12.0, 8.0])
    assert measured == {
        "processes": 2, "threads": 1, "texts_per_second": {"value": 600.0, "low": 500.0, "high": 750.0}
    }  # fmt: skip
    (table,) = processes_tables({"trained": [{"data": "imdb", "rows": 6_000, "ways": [measured]}]})
    *_, last = table.splitlines()
    assert [cell.strip() for cell in last.strip("|").split("|")] == ["6,000 of `imdb`", "2", "1", "600", "500–750"]
