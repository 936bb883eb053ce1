import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import label_doctor
from benchmarks.tables import kinds
from benchmarks.tables_labels import labels_tables


def a_line(seed: int, found: float, share: float = 0.2) -> dict[str, object]:
    listed = {"rows": 50 + 10 * seed, "precision": found, "recall": found / 2}
    return {
        "table": "films",
        "share": share,
        "seed": seed,
        "rows": 1_000,
        "test_rows": 400,
        "injected": 200,
        "ranking": {"margin": {"precision_at_k": found, "average_precision": found / 4}},
        "listed": {"ours": listed, "cleanlab, x": listed},
        "estimated_wrong": 250.0,
        "accuracy": {"wrong labels": found, "right labels": 0.875},
    }


def test_lines_are_shown_over_their_seeds() -> None:
    lines = [a_line(0, 0.5), a_line(1, 0.75), a_line(0, 0.25, share=0.05)]
    shown = "\n\n".join(labels_tables({"lines": lines, "cleanlab": "1.2.3"}))
    assert "| table | rows | made wrong | ours | cleanlab, x |" in shown
    assert "| `films` | 400 | 5% | .250 | .875 | 25% |" in shown
    assert "| `films` | 1,000 | 20% | 55 rows, .625, .312 | 55 rows, .625, .312 |" in shown
    assert "| `films` | 400 | 20% | .625 ± .177 | .875 ± .000 | 25% |" in shown
    assert shown.endswith("over seeds 0–1. cleanlab 1.2.3.")


def test_without_a_result_the_page_says_so(tmp_path: Path) -> None:
    assert list(kinds(tmp_path)["label-doctor"]("label-doctor")) == ["Not measured yet."]


def test_listed_rows_are_counted() -> None:
    injected = np.array([True, False, True, True, False])
    found = label_doctor._listed(np.array([0, 1, 2]), injected)
    assert found == {"rows": 3, "precision": pytest.approx(2 / 3), "recall": pytest.approx(2 / 3)}


def test_a_trial_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cleanlab", reason="the extra `bench` is not installed")
    monkeypatch.setattr(label_doctor, "TABLES", {"polarity": None})
    monkeypatch.setattr(sys, "argv", ["benchmarks/label_doctor.py", "--quick", "--work", str(tmp_path)])
    label_doctor.main()
    found = json.loads((tmp_path / "trial" / "label-doctor.json").read_text())
    assert [line["injected"] for line in found["lines"]] == [10, 40]
    for line in found["lines"]:
        assert line["accuracy"].keys() == {
            "wrong labels", "doubtful rows checked", "doubtful rows relabelled", "doubtful rows left out",
            "right labels",
        }  # fmt: skip
        assert all(0 <= value <= 1 for ranking in line["ranking"].values() for value in ranking.values())
