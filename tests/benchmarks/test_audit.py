import json
import sys
from pathlib import Path

import pytest

from benchmarks import audit
from benchmarks.tables import kinds


def test_a_benchmark_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "TABLES", ("polarity",))
    monkeypatch.setattr(audit, "WAYS", {"defaults": {"training.epochs": 1}})
    monkeypatch.setattr(audit, "SEEDS", (3, 4))
    monkeypatch.setattr(audit, "TIMES", (4,))
    monkeypatch.setattr(sys, "argv", ["benchmarks/audit.py", "--quick", "--work", str(tmp_path / "work")])
    audit.main()
    found = json.loads((tmp_path / "work" / "trial" / "audit.json").read_text())
    (way, other), (planted,) = found["ways"], found["canaries"]
    assert (way["seed"], other["seed"]) == (3, 4)
    assert way["attacks"] != other["attacks"]
    assert way["members"] + way["others"] <= 300
    assert next(iter(way["attacks"])) == "loss of the answer"
    assert planted["rows"] == 300 + 4 * audit.PLANTED
    assert planted["in_files"] <= planted["with_table"] <= audit.PLANTED
    assert planted["with_table"] > 0
    assert 0 < planted["confirmable"] <= audit.PLANTED
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["audit"]("audit"))
    assert "| `polarity` | loss of the answer | " in shown
    assert "| `polarity` | defaults | " in shown
    assert "| `polarity` | 4 | " in shown
    assert list(kinds(tmp_path)["audit"]("audit")) == ["Not measured yet."]
