import json
from pathlib import Path

from benchmarks.tables_aims import AIMS, aims_table


def write(file: Path, found: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(found), encoding="utf-8")


def test_a_reached_aim_is_bold_and_a_missed_one_says_what_was_tried(tmp_path: Path) -> None:
    found = {"ours": {"accuracy_of_seeds": [0.91, 0.93]}, "TF-IDF": {"accuracy_of_seeds": [0.8, 0.8]}}
    entries = [{"name": aim.entry, "contestants": found} for aim in AIMS if aim.entry]
    write(tmp_path / "bench-of-tables" / "test.json", {"entries": entries})
    run = {"accuracy": {"value": 0.79}}
    write(
        tmp_path / "disaster-tweets-5-fold.json",
        {"runs": [run], "baselines": {"TF-IDF + logistic regression": {"accuracy": {"mean": 0.78}}}},
    )
    lines = aims_table(tmp_path)[0].splitlines()
    assert "| `trec` | .910 | **.920 (.910–.930)** | .800 |  |" in lines
    assert "| `clinc150` | .930 | .920 (.910–.930) | .800 | other values of C; labels of counting for others |" in lines
    assert "| `disaster-tweets`, 5 folds | .815 | .790, one seed | .780 | the same |" in lines
    assert any("Not measured yet." in line for line in lines)
