from pathlib import Path

import polars as pl
import pytest

from benchmarks.experiment import RESULTS
from benchmarks.remote_memory import ANSWERED, AS_A_TABLE, IN_BATCHES, measured, write
from benchmarks.tables_common import read


def test_each_row_of_a_file_is_seen(tmp_path: Path) -> None:
    n_bytes = write(tmp_path / "a.parquet", 300)
    found = pl.read_parquet(tmp_path / "a.parquet")
    assert found.height == found["text"].n_unique() == 300
    assert n_bytes == sum(map(len, found["text"]))
    for way in (IN_BATCHES, AS_A_TABLE):
        assert measured(way, str(tmp_path / "a.parquet"))["rows"] == 300


@pytest.mark.parametrize(("way", "most"), [(IN_BATCHES, 100), (AS_A_TABLE, 500), (ANSWERED, 50)])
def test_many_rows_take_little_memory(way: str, most: int) -> None:
    small, large = (each for each in read(RESULTS / "remote-memory.json")["files"] if way in each["ways"])
    assert all(each["ways"][way]["rows"] == each["rows"] for each in (small, large))
    assert large["rows"] >= 10 * small["rows"]
    assert large["ways"][way]["peak_mib"] - small["ways"][way]["peak_mib"] < most
