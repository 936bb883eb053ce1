import sys
from pathlib import Path

import polars as pl
import pytest

from benchmarks import rows
from benchmarks.tables_rows import rows_tables


def test_the_tweets_are_the_same_each_time_and_their_words_tell_the_label() -> None:
    tweets, again = (pl.concat(list(rows.generate(3_000))) for _ in range(2))
    assert tweets.equals(again)
    of_label = tweets.group_by("label").agg(pl.col("text").str.split(" ").explode().value_counts(sort=True).head(40))
    frequent = [{entry["text"]: entry["count"] for entry in words} for words in of_label["text"]]
    shared = frequent[0].keys() & frequent[1].keys()
    assert max(abs(frequent[0][word] - frequent[1][word]) / frequent[0][word] for word in shared) > 0.3


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel keeps no peak to read")
def test_every_phase_is_measured_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SECONDS_OF_STEPS", 0.2)
    table = tmp_path / "a.parquet"
    pl.concat(list(rows.generate(2_100))).write_parquet(table)
    phases = rows.run_phases(str(table))
    phases = rows.with_peaks(phases, [(phase["began"], 1024 * (200 + n)) for n, phase in enumerate(phases)])
    assert [phase["phase"] for phase in phases][-3:] == ["counting", "unlike", "steps"]
    assert all(phase["peak_mib"] >= phase["after_mib"] > 100 for phase in phases)
    assert [phase["anonymous_mib"] for phase in phases] == [*range(200, 208)]
    assert phases[-1]["steps_per_second"] > 0
    groups = rows.split_by_groups(3_000)
    assert groups["held_out"] == pytest.approx(0.1, abs=0.01)
    assert groups["positive"][0] == pytest.approx(groups["positive"][1], abs=0.01)
    found = {
        "lines": [{"rows": 2_100, "texts_mb": 0.2, "phases": phases}],
        "table": {"mean_words": 13.2, "distinct_words": 9_000},
        "groups": groups,
        "machine": {"processor": "a processor", "cores": 2},
        "load_average_at_end": 0.5,
    }
    shown = "\n".join(rows_tables(found))
    assert "| phase | 2,100 rows, s | 2,100 rows, MiB |" in shown
    assert shown.count("| 205 |") == 1
    assert "| encoding the texts | " in shown
    assert "A split by 3,000 groups" in shown


HOLDING = """
import json, time
began, held = time.monotonic(), b"a" * (80 << 20)
time.sleep(0.5)
print(json.dumps([{"phase": "a", "began": began, "ended": time.monotonic()}]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")
def test_the_memory_of_another_process_is_watched() -> None:
    (phase,) = rows.watched([sys.executable, "-c", HOLDING])
    assert 80 <= phase.pop("anonymous_mib") < 200
    assert phase == {"phase": "a"}
