import sys

import polars as pl
import pytest

from benchmarks import wall_time
from benchmarks.tables_speed import wall_time_tables

SLEEPS = (
    sys.executable,
    "-c",
    "import shutil, sys, time; time.sleep(.1); shutil.copy(*sys.argv[1:])",
    "{table}",
    "{out}",
)


def test_each_contestant_is_compared_with_tfidf_in_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = (sys.executable, "-c", "")
    contestants = {"glassformer train": SLEEPS, "TF-IDF + LR": quick, "fastText": quick}
    monkeypatch.setattr(wall_time, "CONTESTANTS", contestants)
    monkeypatch.setattr(wall_time, "_NEEDS", {"fastText": "no_such_package"})
    monkeypatch.setattr(wall_time, "tweets", lambda count: pl.DataFrame({"text": ["a"] * count}))
    found = wall_time.measure(3, 2)
    assert [*found] == ["glassformer train", "TF-IDF + LR"]
    first, baseline = found.values()
    assert len(first["seconds"]) == 2
    assert min(first["seconds"]) > 0.1
    assert first["times_tfidf"]["lowest"] > 1 == baseline["times_tfidf"]["highest"]
    table, said = wall_time_tables({"lines": [{"rows": 1_000, "contestants": found}], "load_average_at_end": 1.0})
    assert "| from the command to the model | 1,000 rows |" in table
    assert "1.0 ×" in table
    assert "load average was 1.0" in said


def test_a_contestant_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        wall_time.timed([sys.executable, "-c", "1 / 0"])
