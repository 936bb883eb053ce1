import json
from pathlib import Path

from benchmarks.few_labels import TFIDF
from benchmarks.tables_aims import aims_table


def test_a_reached_aim_is_bold_and_a_missed_one_says_what_was_tried(tmp_path: Path) -> None:
    def run(value: float) -> dict[str, object]:
        return {"accuracy": {"value": value, "low": value - 0.01, "high": value + 0.01}}

    lines = [{"per_class": size, "over": {TFIDF: {"value": gain}}} for size, gain in ((8, 0.1), (8, 0.2), (32, 0.05))]
    results = {
        "few-labels": {"lines": lines},
        "disaster-tweets": {"runs": [run(0.82), run(0.84)]},
        "imdb": {"runs": [run(0.9)]},
    }
    for name, found in results.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
    shown = aims_table(tmp_path)[0].splitlines()
    (most,) = [
        line for line in shown if line.startswith("| few labels: mean gain over TF-IDF with 8 rows of each class")
    ]
    assert most.endswith(" | .090 | **.150 (+.100 to +.200 on 2 tables)** |  |")
    (few,) = [
        line for line in shown if line.startswith("| the same with 32 | .090 | .050 (+.050 to +.050 on 1 table) | ")
    ]
    assert few.endswith("; a sentiment axis |")
    assert "| `disaster-tweets` | .825 | **.830 (.820 to .840 in 2 runs)** |  |" in shown
    assert any(line.startswith("| `imdb` | .925 | .900 (95% interval .890 to .910, one seed) | the ") for line in shown)
    assert sum("Not measured yet." in line for line in shown) == 2
